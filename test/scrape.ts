import { expect } from 'vitest'
import { until } from './processes.ts'

/** What a process serves at /metrics: the whole `text`, and a figure by its name and labels, or null. */
export type Scraped = { text: string; figure: (name: string, labels?: Record<string, string>) => number | null }

/** Reads the metrics of a process. */
export async function scrape(url: string): Promise<Scraped> {
  const response = await fetch(`${url}/metrics`)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return {
    text,
    figure(name, labels = {}) {
      const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
      const line = text.split('\n').find((line) => {
        const [, found, inside = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? []
        return (
          found === name &&
          pairs.length === inside.split('",').filter(Boolean).length &&
          pairs.every((pair) => inside.includes(pair))
        )
      })
      return line === undefined ? null : Number(line.slice(line.lastIndexOf(' ')))
    },
  }
}

/** The address of the metrics of a web process that took any free port, from its log. */
export async function metricsUrlOf({ log }: { log: () => string }): Promise<string> {
  const port = await until(() => /"address":\{[^}]*"port":(\d+)\},"msg":"metrics are served"/.exec(log())?.[1])
  return `http://127.0.0.1:${port}`
}
