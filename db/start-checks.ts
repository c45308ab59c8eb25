import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Db } from './client.ts'
import { InstallationError } from './embedded/installation.ts'
import type { Env } from './env.ts'
import { FileStorageError, type Files } from './files/files.ts'
import { isMigrated, requireVersion } from './migrate.ts'
import { type KeyRing, keyIdsOf } from './sealed.ts'

const StorageMs = 10_000

/** Throws InstallationError if PostgreSQL is too old or `ring` opens nothing in it. A database that waits for migrations passes. */
export async function checkDatabase(db: Db, ring: KeyRing, log: Logger): Promise<void> {
  await requireVersion(db)
  if (await isMigrated(db)) await requireKeys(db, ring, log)
}

// A ring that opens nothing is another installation's. One that opens some has lost a key: the rest must not wait for that.
async function requireKeys(db: Db, ring: KeyRing, log: Logger): Promise<void> {
  const ids = sql.param(keyIdsOf(ring).map((id) => id.toString('hex')))
  const [seen] = await db.execute<{ opened: number; unopened: number }>(sql`
    select count(*) filter (where key_id = any(${ids}::text[]))::int as opened,
      count(*) filter (where key_id <> all(${ids}::text[]))::int as unopened
    from (
      select encode(substring(credential from 2 for 4), 'hex') as key_id from channels where octet_length(credential) > 0
      union all select encode(substring(secret from 2 for 4), 'hex') from webhooks
    ) as sealed`)
  const { opened, unopened } = seen!
  if (unopened === 0) return
  if (opened === 0)
    throw new InstallationError(
      `SECRET_KEYS opens none of the ${unopened} credentials in this database: set the key that sealed them, the same for every process.`,
    )
  log.warn(
    { opened, unopened },
    'SECRET_KEYS does not open everything: `npm run admin -- rotate-key` lists what is left',
  )
}

/**
 * Throws InstallationError where no file can be kept. What passes by itself is a line in the log: a full disk, a bucket that
 * is away. Posts without media go out meanwhile.
 */
export async function requireWritable(files: Files, env: Pick<Env, 'dataDir' | 's3'>, log: Logger): Promise<void> {
  const error = await Promise.race([writeOnce(files), sleep(StorageMs, new StorageSilent(), { ref: false })])
  if (error === null) return
  if (isPassing(error)) return log.warn({ err: error }, 'files cannot be stored now')
  throw new InstallationError(sentenceOf(error, env), { cause: error })
}

class StorageSilent extends Error {
  override message = `The storage did not answer within ${StorageMs / 1000} s.`
}

async function writeOnce(files: Files): Promise<Error | null> {
  const key = `00start-${randomUUID()}` // what a crash leaves of it is swept as any file that nothing names
  try {
    await files.write(key, Buffer.of(0))
    await files.remove(key)
    return null
  } catch (error) {
    return (error instanceof FileStorageError ? error.cause : error) as Error
  }
}

type StorageError = Error & { code?: string; $metadata?: { httpStatusCode?: number } }

function isPassing(error: StorageError): boolean {
  if (/^(RequestTimeTooSkewed|RequestTimeout|SlowDown)$/.test(error.name)) return true
  const status = error.$metadata?.httpStatusCode
  if (status !== undefined) return ![301, 400, 401, 403, 404].includes(status)
  return !/^(EACCES|EPERM|ENOENT|ENOTDIR|EROFS)$/.test(error.code ?? '')
}

function sentenceOf(error: StorageError, { dataDir, s3 }: Pick<Env, 'dataDir' | 's3'>): string {
  if (error.$metadata && s3)
    return `The bucket ${s3.name} takes no files (${error.name}): check S3_BUCKET, S3_ENDPOINT, S3_REGION and the S3 keys.`
  return `Files cannot be written in ${dataDir}/files (${error.message}): let this user write there, or set DATA_DIR.`
}
