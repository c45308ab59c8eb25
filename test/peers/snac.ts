import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fromBackports } from './debian.ts'
import { freePort } from './port.ts'

const StartTimeoutMs = 10_000

export type Snac = {
  url: string
  user: string
  password: string
  /** Approve a connection as `user`: fill in the form at `authorizeUrl`, and answer the address that it leads back to. */
  consent: (authorizeUrl: string) => Promise<string>
  stop: () => Promise<void>
}

/** A real snac2 on a free port of 127.0.0.1, with one user, ada, and data that is gone after `stop`. */
export async function startSnac(): Promise<Snac> {
  const program = join(await fromBackports('snac2', 'usr/bin/snac'), 'usr/bin/snac')
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
    user: 'ada',
    password,
    consent: (authorizeUrl) => consent(authorizeUrl, { login: 'ada', passwd: password }),
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
  const page = await (await fetch(authorizeUrl)).text()
  const action = /<form method="post" action="([^"]+)"/.exec(page)?.[1]
  if (!action) throw new Error(`snac shows no form at ${authorizeUrl}`)
  const hidden = [...page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value,
  ])
  const form = new URLSearchParams({ ...Object.fromEntries(hidden), ...person })
  const answer = await fetch(action, { method: 'POST', body: form, redirect: 'manual' })
  const location = answer.headers.get('location')
  if (!location) throw new Error(`snac did not accept the consent (status ${answer.status}).`)
  return location
}
