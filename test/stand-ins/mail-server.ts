import { createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { freePort } from '../port.ts'

/** A mail as it arrived. `raw` is the whole message; `body` its text part, decoded. */
export type Arrived = { to: string[]; from: string; raw: string; body: string; headers: Record<string, string> }

/** A mail server on loopback that keeps what it gets, refuses as its script says, and can be down or frozen. */
export async function startMailServer() {
  const port = await freePort()
  const arrived: Arrived[] = []
  const script = { refuse: null as { code: number; message: string } | null }
  let server: SMTPServer | null = null
  let frozen: Awaited<ReturnType<typeof silence>> | null = null

  function listen(): Promise<void> {
    server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      logger: false,
      onAuth: (auth, _session, done) => done(null, { user: auth.username }),
      onRcptTo: (_address, _session, done) =>
        script.refuse
          ? done(Object.assign(new Error(script.refuse.message), { responseCode: script.refuse.code }))
          : done(),
      async onData(stream, { envelope }, done) {
        const raw = await text(stream)
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        arrived.push({ ...parsed(raw), raw, from, to: envelope.rcptTo.map(({ address }) => address) })
        done()
      },
    })
    server.on('error', () => {})
    return new Promise((done) => server!.listen(port, '127.0.0.1', () => done()))
  }
  async function close(): Promise<void> {
    await new Promise<void>((done) => (server ? server.close(() => done()) : done()))
    server = null
  }
  await listen()
  return {
    arrived,
    script,
    url: `smtp://user:a%20secret%20of%20smtp@127.0.0.1:${port}`,
    to: (email: string) => arrived.filter((mail) => mail.to.includes(email)),
    down: close,
    up: listen,
    /** Accepts connections from now on, and never says a word. */
    async freeze() {
      await close()
      frozen = await silence(port)
      return frozen
    },
    async thaw() {
      await frozen?.end()
      frozen = null
      await listen()
    },
    async end() {
      await frozen?.end()
      await close()
    },
  }
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** The first link in a mail. */
export function linkIn({ body }: Arrived): string {
  return /https?:\/\/\S+/.exec(body)![0]
}

async function silence(port: number) {
  const sockets = new Set<Socket>()
  let [met, most] = [0, 0]
  const server = createServer((socket) => {
    met++
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
    most = Math.max(most, sockets.size)
  })
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  return {
    met: () => met,
    most: () => most, // connections at once
    end: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise<void>((done) => void server.close(() => done()))
    },
  }
}

function parsed(raw: string): Pick<Arrived, 'headers' | 'body'> {
  const [head = ''] = raw.split('\r\n\r\n')
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const [, partHead = '', part = ''] = /Content-Type: text\/plain([\s\S]*?)\r\n\r\n([\s\S]*?)\r\n--/.exec(raw) ?? []
  return { headers, body: decoded(part, /Content-Transfer-Encoding: ([\w-]+)/i.exec(partHead)?.[1] ?? '7bit') }
}

function decoded(part: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(part, 'base64').toString('utf8')
  if (encoding !== 'quoted-printable') return part.replaceAll('\r\n', '\n')
  const bytes = part
    .replace(/=\r\n/g, '')
    .replace(/=([\dA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n')
}
