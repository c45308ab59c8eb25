import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'drizzle-orm'
import { describe, expect, type TestContext, test } from 'vitest'
import { freePort } from '../port.ts'
import { startWeb, testSite, until } from '../processes.ts'
import { metricsUrlOf, scrape } from '../scrape.ts'
import { world } from '../world.ts'
import { alertCases } from './alert-cases.ts'
import { folderOf, startProgram, withPrograms } from './program.ts'

const run = promisify(execFile)
const programs = withPrograms('promtool', 'prometheus', 'amtool', 'prometheus-alertmanager')
const docs = resolve(import.meta.dirname, '../../docs')
const rules = readFileSync(join(docs, 'alerts.yaml'), 'utf8')
const manual = readFileSync(join(docs, 'operations.md'), 'utf8')
const dashboard = readFileSync(join(docs, 'deploy/grafana.json'), 'utf8')
const alertNames = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)

/** The expressions of the dashboard's panels, with the variable that Grafana fills in. */
function expressions(): string[] {
  const { panels } = JSON.parse(dashboard) as { panels: { targets: { expr: string }[] }[] }
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m')))
}

describe('the rules, by promtool', () => {
  test('promtool can read them', async () => {
    const { stdout } = await run(programs.promtool, ['check', 'rules', join(docs, 'alerts.yaml')])
    expect(stdout).toContain(`SUCCESS: ${alertNames.length} rules found`)
  })

  test('each alert fires for its own case and not for its silent case', async () => {
    expect(Object.keys(alertCases).sort()).toEqual(alertNames.toSorted())
    const tests = Object.entries(alertCases).flatMap(([name, { fires, silent, atMinutes }]) =>
      [fires, silent].map((series) => ({
        interval: '1m',
        input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${name}",alertstate="firing"}) or vector(0)`,
            eval_time: `${atMinutes}m`,
            exp_samples: [{ labels: '{}', value: series === fires ? 1 : 0 }],
          },
        ],
      })),
    )
    const cases = JSON.stringify({ rule_files: [join(docs, 'alerts.yaml')], evaluation_interval: '1m', tests }) // JSON is YAML
    const { path, end } = await folderOf({ 'cases.yaml': cases })
    const { stdout } = await run(programs.promtool, ['test', 'rules', join(path, 'cases.yaml')]).catch((error) => error)
    await end()
    expect(stdout).toContain('SUCCESS')
  })
})

test('the example for Alertmanager is valid, and silences alerts that follow from another alert', async ({
  onTestFinished,
}) => {
  const example = join(docs, 'deploy/alertmanager.yml')
  const { stdout } = await run(programs.amtool, ['check-config', example])
  expect(stdout).toContain('SUCCESS')
  for (const name of readFileSync(example, 'utf8').match(/Punctual\w+/g)!) expect(alertNames).toContain(name)

  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const { path, end } = await folderOf({ 'alertmanager.yml': readFileSync(example, 'utf8') })
  onTestFinished(end)
  const flags = ['--config.file=alertmanager.yml', '--storage.path=data', `--web.listen-address=127.0.0.1:${port}`]
  const alertmanager = await startProgram(
    [programs['prometheus-alertmanager'], ...flags, '--cluster.listen-address='],
    path,
    () => isServed(`${origin}/-/ready`),
  )
  onTestFinished(alertmanager.end)
  const alerts = ['PunctualNoWorker', 'PunctualNothingPublished', 'PunctualLate', 'PunctualNeedsReview']
  const body = JSON.stringify(alerts.map((alertname) => ({ labels: { alertname } })))
  const told = await fetch(`${origin}/api/v2/alerts`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  })
  expect(told.status).toBe(200)
  const states = async () => {
    const known = (await (await fetch(`${origin}/api/v2/alerts`)).json()) as {
      labels: { alertname: string }
      status: { state: string }
    }[]
    return Object.fromEntries(known.map(({ labels, status }) => [labels.alertname, status.state]))
  }
  await until(async () => Object.values(await states()).filter((state) => state === 'suppressed').length === 2)
  expect(await states()).toMatchObject({
    PunctualNothingPublished: 'suppressed',
    PunctualLate: 'suppressed',
    PunctualNoWorker: 'active',
  })
})

test('a real Prometheus with the manual’s configuration reads web and worker, shows the dashboard, and raises the alerts', async (context) => {
  const { w, web, worker, ask, firing } = await watched(context)
  const up = await until(async () => {
    const targets = await ask('up == 1')
    return targets.length === 2 && targets
  })
  expect(up.map(({ metric }) => metric.job).sort()).toEqual(['punctual-web', 'punctual-worker'])
  const { id } = await w.delivery('keyed')
  await until(async () => (await ask('sum(punctual_attempts_total{outcome="published"})')).length === 1)
  expect(id).toBeTruthy()
  const served = (await scrape(await metricsUrlOf(web))).text + (await scrape(worker.healthUrl)).text
  for (const expression of expressions()) {
    await ask(expression) // throws if Prometheus cannot read it
    for (const name of expression.match(/\b(punctual|nodejs|process)_\w+/g)!)
      expect(served, name).toMatch(new RegExp(`^# TYPE ${name.replace(/_(bucket|count|sum)$/, '')} `, 'm'))
  }
  await until(async () => (await firing()).length === 0) // alerts for series without samples fire briefly at first

  await w.db.execute(sql`update installation set paused_at = now()`)
  await until(async () => (await firing()).includes('PunctualClaimsStopped'))
  await w.db.execute(sql`update installation set paused_at = null`)
  await w.db.execute(sql`update networks set paused_at = now() where name = 'keyed'`)
  await w.stopWorkers()
  await w.delivery('two-step', new Date(Date.now() - 120_000))
  await until(async () => {
    const seen = await firing()
    return ['PunctualNoWorker', 'PunctualNothingPublished', 'PunctualProcessDown'].every((name) => seen.includes(name))
  })
  await web.stop()
  await until(async () => {
    const seen = await firing()
    return ['PunctualNoWeb', 'PunctualUnseen'].every((name) => seen.includes(name))
  })
})

/** A web process, a worker and a Prometheus with the manual's configuration that scrapes them each second. An alert
 * waits for 1 s. */
async function watched({ onTestFinished }: TestContext) {
  const w = await world()
  onTestFinished(() => w.end())
  const worker = await w.worker()
  const site = await testSite(w.site.databaseUrl, { ...w.site.env, PORT: String(w.site.port), METRICS_PORT: '0' })
  const web = await startWeb({ ...w.site, env: site.env })
  onTestFinished(async () => {
    await web.stop()
    await site.end()
  })
  const [, lines = ''] = /```yaml\n(rule_files[\s\S]+?)```/.exec(manual) ?? []
  const port = await freePort()
  const { path, end } = await folderOf({
    'prometheus.yml': `global: { scrape_interval: 1s, evaluation_interval: 1s }\n${lines
      .replace(/'worker-1:9465', 'worker-2:9465'/, `'${new URL(worker.healthUrl).host}'`)
      .replace(/'web-1:9464', 'web-2:9464'/, `'${new URL(await metricsUrlOf(web)).host}'`)}`,
    'alerts.yaml': rules.replaceAll(/for: \d+[mh]/g, 'for: 1s'),
  })
  onTestFinished(end)
  const origin = `http://127.0.0.1:${port}`
  const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`]
  const prometheus = await startProgram([programs.prometheus, ...flags], path, () => isServed(`${origin}/-/ready`))
  onTestFinished(prometheus.end)
  type Sample = { metric: Record<string, string>; value: [number, string] }
  const ask = async (query: string): Promise<Sample[]> => {
    const answer = await fetch(`${origin}/api/v1/query?query=${encodeURIComponent(query)}`)
    const { status, error, data } = (await answer.json()) as {
      status: string
      error?: string
      data: { result: Sample[] }
    }
    if (status !== 'success') throw new Error(`${query}: ${error}`)
    return data.result
  }
  const firing = async () => (await ask('ALERTS{alertstate="firing"}')).map(({ metric }) => metric.alertname!)
  return { w, web, worker, ask, firing }
}

function isServed(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )
}
