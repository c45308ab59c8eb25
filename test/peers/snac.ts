import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../port.ts'
import { fromBackports } from './debian.ts'
import { filledForm } from './forms.ts'

const Package = ['snac2', 'usr/bin/snac'] as const
const StartTimeoutMs = 10_000

export type Snac = {
  url: string
  /** Approve a connection as ada: fill in the form at `authorizeUrl`, and answer the address that it leads back to. */
  consent: (authorizeUrl: string) => Promise<string>
  /** What ada has posted in public, newest first, as anybody may read it. */
  statuses: () => Promise<Status[]>
  stop: () => Promise<void>
}

export type Status = {
  id: string
  url: string
  text: string
  visibility: string
  media_attachments: { url: string; description: string }[]
}

/** Why there can be no snac2 on this machine, in a line, or null. Whatever it needs and can be fetched is there afterwards. */
export function whyNoSnac(): Promise<string | null> {
  return fromBackports(...Package).then(
    () => null,
    ({ message }: Error) => `no snac2 here: ${message.trim().replace(/\s+/g, ' ').slice(0, 300)}`,
  )
}

/** A real snac2 on a free port of 127.0.0.1, with one user, ada, and data that is gone after `stop`. */
export async function startSnac(): Promise<Snac> {
  const program = join(await fromBackports(...Package), Package[1])
  const folder = await mkdtemp(join(tmpdir(), 'snac-'))
  const data = join(folder, 'data')
  const port = await freePort()
  const host = `127.0.0.1:${port}`
  await answered(program, ['init', data], ['127.0.0.1', `${port}`, host, '', ''])
  await overHttp(join(data, 'server.json'))
  const said = await answered(program, ['adduser', data, 'ada'], [])
  const password = /password is (\S+)/.exec(said)?.[1]
  if (!password) throw new Error(`snac made no user: ${said}`)

  const server = spawn(program, ['httpd', data], { stdio: 'ignore' })
  const url = `http://${host}`
  await listening(url, server)
  return {
    url,
    consent: (authorizeUrl) => consent(authorizeUrl, { login: 'ada', passwd: password }),
    statuses: () => statusesOf(url),
    async stop() {
      if (server.exitCode === null && server.kill()) await once(server, 'exit')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function answered(program: string, args: string[], answers: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(answers.map((answer) => `${answer}\n`).join(''))
  const said = Buffer.concat(await child.stdout.toArray()).toString()
  if (child.exitCode === null) await once(child, 'exit')
  if (child.exitCode !== 0) throw new Error(`snac ${args[0]} ended with ${child.exitCode}: ${said}`)
  return said
}

async function overHttp(file: string): Promise<void> {
  const settings = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...settings, protocol: 'http' }, null, 2))
}

async function listening(url: string, server: ChildProcess): Promise<void> {
  const giveUp = Date.now() + StartTimeoutMs
  for (;;) {
    const up = await fetch(`${url}/api/v1/instance`).then(
      (response) => response.ok,
      () => false,
    )
    if (up) return
    if (server.exitCode !== null || Date.now() > giveUp) throw new Error('snac does not start.')
    await wait(50)
  }
}

async function consent(authorizeUrl: string, person: { login: string; passwd: string }): Promise<string> {
  const { action, body } = filledForm(await (await fetch(authorizeUrl)).text(), person)
  const answer = await fetch(action, { method: 'POST', body, redirect: 'manual' })
  const location = answer.headers.get('location')
  if (!location) throw new Error(`snac did not accept the consent (status ${answer.status}).`)
  return location
}

async function statusesOf(url: string): Promise<Status[]> {
  const account = (await (await fetch(`${url}/api/v1/accounts/lookup?acct=ada`)).json()) as { id: string }
  return (await (await fetch(`${url}/api/v1/accounts/${account.id}/statuses`)).json()) as Status[]
}
