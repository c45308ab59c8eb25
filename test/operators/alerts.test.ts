import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorker } from '../processes.ts'
import { metricsUrlOf, scrape } from '../scrape.ts'
import { openWeb, type Web } from '../server/web.ts'

const docs = resolve(import.meta.dirname, '../../docs')
const rules = readFileSync(`${docs}/alerts.yaml`, 'utf8')
const operations = readFileSync(`${docs}/operations.md`, 'utf8')

let w: Web
let served: string
let names: string[]
beforeAll(async () => {
  w = await openWeb({ METRICS_PORT: '0' })
  const worker = await startWorker(w.site)
  served = (await scrape(await metricsUrlOf(w.web))).text + (await scrape(worker.healthUrl)).text
  names = [...served.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!)
  await worker.stop()
})
afterAll(() => w.end())

test('every metric, state and reason that an alert or a runbook names is served', () => {
  const used = named(rules).concat(named(operations))
  expect(used.length).toBeGreaterThan(20)
  expect(
    used.filter((name) => !names.includes(name.replace(/_(bucket|count|sum)$/, '')) && !names.includes(name)),
  ).toEqual([])
  for (const [, metric, labels] of rules.matchAll(/(punctual_deliveries|punctual_claims_stopped)(\{[^}]*\})/g))
    expect(served).toContain(metric! + labels!)
})

test('the manual scrapes every job that an alert names', () => {
  const jobs = [...rules.matchAll(/\bup\{job=~?"([^"]+)"\}/g)].flatMap(([, list]) => list!.split('|'))
  expect(jobs.length).toBeGreaterThan(0)
  expect(jobs.filter((job) => !operations.includes(`- job_name: ${job}\n`))).toEqual([])
})

test('each of our metrics is documented', () => {
  const own = new Set(names.filter((name) => name.startsWith('punctual_')))
  expect([...own].filter((name) => !operations.includes(`\`${name}\``))).toEqual([])
})

test('every alert has a severity, a summary and an existing runbook', () => {
  const alerts = rules.split('- alert: ').slice(1)
  expect(alerts.length).toBeGreaterThan(5)
  for (const alert of alerts) {
    const name = /^\w+/.exec(alert)![0]
    expect(alert).toMatch(/severity: (critical|warning)\n/)
    expect(alert).toMatch(/summary: \S/)
    expect(alert).toContain(`runbook_url: docs/operations.md#${name.toLowerCase()}\n`)
    expect(operations).toContain(`\n### ${name}\n`)
  }
})

function named(text: string): string[] {
  return text.match(/\b(punctual|nodejs|process)_[a-z0-9_]+\b/g) ?? []
}
