import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Agent, request } from 'undici'
import { aChannel, aKeyOfAllScopes, anOrganisation } from '../builders.ts'
import { pem } from '../jobs/outbound/loopback.ts'
import { freePort } from '../port.ts'
import { testDatabase } from '../postgres/database.ts'
import { type Site, type Started, startWeb, testSite } from '../processes.ts'
import { folderOf, startProgram } from './program.ts'

const deploy = (name: string) => readFileSync(resolve(import.meta.dirname, '../../docs/deploy', name), 'utf8')

/** How to start a proxy with the example of docs/deploy. Only the ports and the name are the test's own. */
export type Proxy = 'nginx' | 'caddy'

/** Two web processes behind a real proxy that runs the example of docs/deploy, on free ports. */
export async function twoWebsBehind(proxy: Proxy, program: string, extra: Record<string, string> = {}) {
  const database = await testDatabase()
  const port = await freePort()
  const origin = `https://localhost:${port}`
  const first = await testSite(database.url, { APP_URL: origin, TRUST_PROXY: '1', ...extra })
  const second = await testSite(database.url, { ...first.env, PORT: String(await freePort()) })
  const sites: Site[] = [
    first,
    { ...second, port: Number(second.env.PORT), appUrl: `http://localhost:${second.env.PORT}` },
  ]
  const webs: Started[] = await Promise.all(sites.map((site) => startWeb(site)))
  const made = await anOrganisation(database.db)
  const key = await aKeyOfAllScopes(database.db, made)
  const organisationId = made.organisationId
  const channelId = await aChannel(database.db, first.secretKey, { organisationId, network: 'feed' })
  const { path, end: remove } = await folderOf(await filesFor(proxy, port, sites))
  const running = await startProgram(commandFor(proxy, program), path, () => isUp(origin))
  const agents: Agent[] = []
  return {
    ...{ origin, sites, webs, key, channelId, folder: path, log: running.log },
    /**
     * An agent of undici that accepts the test's certificate; `localAddress`: the address it calls from. It uses
     * HTTP/1.1: nginx ends an HTTP/2 connection after 1,000 requests, which undici sometimes reports as an error.
     */
    agent(localAddress?: string) {
      const connect = { rejectUnauthorized: false }
      const agent = new Agent({ allowH2: false, connect, ...(localAddress ? { localAddress } : {}) })
      agents.push(agent)
      return agent
    },
    /** Stops a web process as its supervisor does, and starts it again. */
    async restart(i: number) {
      const code = await webs[i]!.stop()
      webs[i] = await startWeb(sites[i]!)
      return code
    },
    async end() {
      await Promise.all(agents.map((agent) => agent.destroy()))
      await running.end()
      await Promise.all(webs.map((web) => web.stop()))
      await Promise.all([first.end(), second.end(), remove()])
      await database.end()
    },
  }
}

export type TwoWebs = Awaited<ReturnType<typeof twoWebsBehind>>

async function isUp(origin: string): Promise<boolean> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  try {
    const { statusCode, body } = await request(`${origin}/livez`, { dispatcher })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  } finally {
    await dispatcher.destroy()
  }
}

async function filesFor(proxy: Proxy, port: number, sites: Site[]): Promise<Record<string, string>> {
  const plain = await freePort()
  const theirs = (text: string) =>
    text
      .replaceAll('127.0.0.1:3001', `127.0.0.1:${sites[0]!.port}`)
      .replaceAll('127.0.0.1:3002', `127.0.0.1:${sites[1]!.port}`)
  if (proxy === 'caddy')
    return {
      'tls.pem': pem,
      Caddyfile: `{\n\tadmin off\n\thttp_port ${plain}\n\thttps_port ${port}\n\tauto_https disable_redirects\n}\n${theirs(
        deploy('Caddyfile').replace('punctual.example.org {', `localhost:${port} {\n\ttls tls.pem tls.pem`),
      )}`,
    }
  const site = theirs(deploy('nginx.conf'))
    .replace('listen 80;', `listen 127.0.0.1:${plain};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`)
    .replaceAll(/\/etc\/letsencrypt\/\S+(?=;)/g, 'tls.pem')
    .replaceAll('punctual.example.org', 'localhost')
    .replaceAll('/var/log/nginx/access.log', 'access.log')
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`)
  return {
    'tls.pem': pem,
    'site.conf': site,
    'nginx.conf': `daemon off;\npid nginx.pid;\nerror_log stderr notice;\nworker_processes 2;\nevents {}\nhttp {\n${folders.join('\n')}
access_log access.log;\nproxy_max_temp_file_size 0;\ninclude site.conf;\n}\n`,
  }
}

function commandFor(proxy: Proxy, program: string): [string, ...string[]] {
  return proxy === 'caddy'
    ? [program, 'run', '--config', 'Caddyfile']
    : [program, '-p', '.', '-e', 'stderr', '-c', 'nginx.conf']
}

/** Calls until `over`, one call after another, and counts the answers by their result. */
export async function callUntil(over: () => boolean, call: () => Promise<number | string>) {
  const seen: Record<string, number> = {}
  while (!over()) {
    const what = String(await call().catch((error: Error & { code?: string }) => error.code ?? error.message))
    seen[what] = (seen[what] ?? 0) + 1
  }
  return seen
}
