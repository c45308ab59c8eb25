import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { webhookExamples } from '../../../app/developers/webhooks/webhook-examples.ts'
import { startWorker, until } from '../../processes.ts'
import { apiAs, memberWith, openWeb } from '../../server/web.ts'
import { startReceiver, type Told } from '../../stand-ins/receiver.ts'

// What /docs/webhooks shows, run as it stands on a call that a worker made.

let told: Told
let secrets: [string, string]
let page: string
beforeAll(async () => {
  const w = await openWeb()
  const receiver = await startReceiver()
  const worker = await startWorker(w.site)
  const { webhooks } = apiAs(w.installation, await memberWith(w.installation, w))
  const { id, secret } = await webhooks.create({ url: receiver.url })
  secrets = [secret, (await webhooks.rotate({ id })).secret]
  await webhooks.test({ id })
  told = await until(() => receiver.told[0])
  page = await (await fetch(`${w.site.appUrl}/docs/webhooks`)).text()
  await Promise.all([worker.stop(), receiver.end()])
  await w.end()
})

const node = (example: string) => ({
  command: process.execPath,
  args: [
    ...['--input-type=module', '--eval'],
    `${example}
import { text } from 'node:stream/consumers'
const { headers, body } = JSON.parse(await text(process.stdin))
console.log(JSON.stringify(eventFrom(headers, body)))`,
  ],
})
const python = (example: string) => ({
  command: 'python3',
  args: [
    '-c',
    `${example}\nimport sys\ncall = json.load(sys.stdin)\nprint(json.dumps(event_from(call["headers"], call["body"].encode())))`,
  ],
})
type Program = ReturnType<typeof node>

/** What a receiver makes of a call; null when it refuses it. */
function run({ command, args }: Program, secret: string, { headers, body }: Pick<Told, 'headers' | 'body'>): unknown {
  const options = {
    cwd: resolve(import.meta.dirname, '../../..'),
    env: { ...process.env, WEBHOOK_SECRET: secret },
  }
  const { status, stdout } = spawnSync(command, args, { ...options, input: JSON.stringify({ headers, body }) })
  return status === 0 ? JSON.parse(stdout.toString()) : null
}

function expectVerifies(program: Program): void {
  for (const secret of secrets) expect(run(program, secret, told)).toEqual(told.json) // with either while both hold
  const [secret] = secrets
  const old = String(Number(told.headers['webhook-timestamp']) - 301)
  const refused = [
    run(program, `whsec_${Buffer.alloc(32).toString('base64')}`, told),
    run(program, secret, { ...told, body: told.body.replace('webhook.test', 'post.created') }),
    run(program, secret, { ...told, headers: { ...told.headers, 'webhook-id': 'another' } }),
    run(program, secret, { ...told, headers: { ...told.headers, 'webhook-timestamp': old } }),
    run(program, secret, { ...told, headers: { ...told.headers, 'webhook-signature': 'v1,' } }),
  ]
  expect(refused).toEqual(refused.map(() => null))
}

test('each example stands on the page as it is run here', () => {
  const shown = page.replaceAll('&quot;', '"').replaceAll('&#x27;', "'").replaceAll('&gt;', '>').replaceAll('&lt;', '<')
  for (const example of Object.values(webhookExamples)) expect(shown.replaceAll('&amp;', '&')).toContain(example)
})

test('the examples in Node take what we sent, and nothing that was changed, is old or signed by others', () => {
  expectVerifies(node(webhookExamples.nodeWithPackage))
  expectVerifies(node(webhookExamples.node))
})

test('the example in Python without a package does so too', ({ skip }) => {
  skip(spawnSync('python3', ['--version']).status !== 0, 'no python3 is found')
  expectVerifies(python(webhookExamples.python))
})
