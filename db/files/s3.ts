import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { S3Client } from '@aws-sdk/client-s3'
import type { Bucket } from '../env.ts'
import { FileNotFound, FileStorageError, type Files, type Range, requireKey, temporaryIn } from './files.ts'
import { cleared } from './gc-stream.ts'

const Prefix = 'files/'
const PartBytes = 5 * 1024 * 1024 // Amazon's minimum; 10,000 parts at most
const PartsAtOnce = 2 // each is held in memory

type Sdk = typeof import('@aws-sdk/client-s3')
type Store = { sdk: Sdk; client: S3Client; bucket: string }

/**
 * Files as objects `files/<key>` of an S3 bucket, which must exist. Temporary files are on this machine, in
 * `<dataDir>/files/temporary`.
 *
 * We write objects all or nothing, large ones in parts. Nothing here depends on an object being in one place only.
 */
export async function s3Files(dataDir: string, bucket: Bucket): Promise<Files> {
  const sdk = await import('@aws-sdk/client-s3') // 25 MB: we load it only when it is used
  const store = { sdk, client: clientFor(sdk, bucket), bucket: bucket.name }
  const temporary = temporaryIn(join(dataDir, 'files/temporary'))
  return {
    write: (key, source) => upload(store, key, source),
    adopt: (key, path) => upload(store, key, Readable.from(cleared(createReadStream(path)))),
    bytesOf: async (key) => Number((await head(store, key)).ContentLength),
    read: (key, range, signal) => read(store, key, range, signal),
    readAll: async (key) => buffer(named((await get(store, key)).Body as Readable)),
    remove: (key) => remove(store, key),
    list: (prefix, time) => list(store, prefix, time),
    clear: temporary.clear,
    temporary: temporary.path,
  }
}

function clientFor({ S3Client }: Sdk, bucket: Bucket): S3Client {
  const { endpoint, region, forcePathStyle, accessKeyId, secretAccessKey } = bucket
  return new S3Client({
    ...(endpoint ? { endpoint } : {}),
    region,
    forcePathStyle,
    credentials: { accessKeyId, secretAccessKey },
    // Only Amazon knows checksums in a trailer. Other servers refuse them or store them with the file.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
}

async function upload({ client, bucket }: Store, key: string, source: Readable | Uint8Array): Promise<void> {
  const { Upload } = await import('@aws-sdk/lib-storage')
  const params = { Bucket: bucket, Key: objectOf(key), Body: source }
  // A failure aborts an unfinished upload. After a crash, the bucket's lifecycle rule does it (docs/operations.md).
  const way = { partSize: PartBytes, queueSize: PartsAtOnce, leavePartsOnError: false }
  await new Upload({ client, params, ...way }).done().catch(storageFailed)
}

async function head({ sdk, client, bucket }: Store, key: string) {
  const command = new sdk.HeadObjectCommand({ Bucket: bucket, Key: objectOf(key) })
  return client.send(command).catch((error) => notFound(key, error))
}

async function read(store: Store, key: string, range?: Range, signal?: AbortSignal): Promise<Readable> {
  const body = (await get(store, key, range, signal)).Body as Readable
  // A generator that was never read does not close its source when it ends. The source would hold one of few sockets.
  return Readable.from(named(cleared(body))).once('close', () => body.destroy())
}

async function get({ sdk, client, bucket }: Store, key: string, range?: Range, signal?: AbortSignal) {
  const only = range ? { Range: `bytes=${range.start}-${range.end}` } : {}
  const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: objectOf(key), ...only })
  const abort = signal ? { abortSignal: signal } : {}
  return client.send(command, abort).catch((error) => notFound(key, error))
}

async function remove({ sdk, client, bucket }: Store, key: string): Promise<void> {
  await client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: objectOf(key) })).catch(storageFailed)
}

async function* list({ sdk, client, bucket }: Store, prefix: string, time: Date): AsyncIterable<string[]> {
  const pages = sdk.paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: Prefix + prefix })
  for await (const { Contents = [] } of named(pages))
    yield Contents.flatMap(({ Key = '', LastModified }) =>
      LastModified && LastModified < time ? [Key.slice(Prefix.length)] : [],
    )
}

function objectOf(key: string): string {
  requireKey(key)
  return Prefix + key
}

function notFound(key: string, error: Error): never {
  if (error.name === 'NoSuchKey' || error.name === 'NotFound')
    throw new FileNotFound(`File not found: ${key}.`, { cause: error })
  return storageFailed(error)
}

// Refused and lost connections have the same codes as the database's. The SDK marks its own errors with $metadata. An
// error without it comes from the source of an upload.
function storageFailed(error: Error & { code?: string }): never {
  if (!('$metadata' in error)) throw error
  throw storageError(error)
}

function storageError(cause: Error & { code?: string }): FileStorageError {
  return new FileStorageError(`The file storage cannot be used: ${cause.message || cause.code || cause.name}`, {
    cause,
  })
}

/** The data from the bucket. A connection that is lost meanwhile becomes a FileStorageError. */
async function* named<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source
  } catch (error) {
    throw storageError(error as Error)
  }
}
