import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'

/** An S3-compatible server on loopback with one bucket. `seen` is each request as `PUT /path?query`. */
export async function startS3() {
  const directory = await mkdtemp(join(tmpdir(), 's3 '))
  const strict = new S3rver({ directory, silent: true, configureBuckets: [{ name: 'punctual' }] })
  await strict.configureBuckets()
  // For lists alone: it forgets the slash behind the bucket, with which Amazon's SDK signs them.
  const lax = new S3rver({ directory, silent: true, allowMismatchedSignatures: true })
  const [answer, answerList] = [strict.callback(), lax.callback()]
  const seen: string[] = []
  // It writes an object over the one that is there, so two at once would be mixed. S3 puts one in the place of the other, whole.
  const putting = new Map<string, Promise<void>>()
  const inTurn = async (key: string, req: IncomingMessage, res: ServerResponse) => {
    const before = putting.get(key)
    putting.set(key, new Promise<void>((done) => res.once('close', done)))
    await before
    answer(req, res)
  }
  const server = createServer((req, res) => {
    seen.push(`${req.method} ${req.url}`)
    // An upload is not aborted here: it has no method for that. All that can be seen is that it was asked for.
    if (req.method === 'DELETE' && req.url?.includes('uploadId=')) res.writeHead(204).end()
    else if (req.url?.startsWith('/punctual/?list-type=2')) answerList(req, res)
    else if (req.method === 'PUT') void inTurn(req.url?.split('?')[0] ?? '', req, res)
    else answer(req, res)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    seen,
    directory,
    bucket: {
      ...{ endpoint, region: 'us-east-1', name: 'punctual', forcePathStyle: true },
      ...{ accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    },
    /** What the environment of a process says of it. */
    variables: {
      ...{ FILES: 's3', S3_ENDPOINT: endpoint, S3_BUCKET: 'punctual' },
      ...{ S3_ACCESS_KEY_ID: 'S3RVER', S3_SECRET_ACCESS_KEY: 'S3RVER' },
    },
    async end() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export type S3 = Awaited<ReturnType<typeof startS3>>
