import { z } from 'zod'
import { misspelt } from './misspelt.ts'
import type { KeyRing } from './sealed.ts'

const wholeNumber = <F extends number | null>(name: string, least: number, most: number, fallback: F) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((n) => n >= least && n <= most)
    .or(z.undefined().transform(() => fallback))
    .catch(() => problem(`${name} must be a whole number from ${least} to ${most}.`))

const bytesOf: Record<string, number> = { '': 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

const size = (name: string, fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text) => /^(\d{1,15}) ?([KMGT]B|)$/i.exec(text))
    .transform((said) => (said ? Number(said[1]) * bytesOf[said[2]!.toUpperCase()]! : Number.NaN))
    .refine(Number.isSafeInteger)
    .catch(() => problem(`${name} must be a size in bytes, KB, MB, GB or TB, for example 10GB. 0 means no limit.`))

const origin = (name: string) =>
  z
    .url({ protocol: /^https?$/ })
    .refine((url) => URL.canParse(url) && new URL(url).origin === url)
    .optional()
    .catch(() =>
      problem(`${name} must be an origin such as https://punctual.example, without a path or a trailing slash.`),
    )

// We name our connections: a restore finds them by name (jobs/ledger/restore.ts). Both drivers prefer the URL's name.
function withoutName(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  if (!url.searchParams.has('application_name')) return databaseUrl
  url.searchParams.delete('application_name')
  return url.href
}

/** An address, or a name with one: Punctual <mail@punctual.example>. */
const sender = z
  .string()
  .max(320)
  .regex(/^[^\r\n<>]*(<[^\r\n<>]+>)?$/)
  .refine((text) => z.email().safeParse((/<(.+)>$/.exec(text)?.[1] ?? text).trim()).success)
  .optional()
  .catch(() => problem('MAIL_FROM must be an address, such as Punctual <mail@punctual.example>.'))

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  )

const Variables = z.object({
  NODE_ENV: z.string().default('production'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .catch(() => problem('DATABASE_URL must look like postgres://user:password@host:5432/database.'))
    .transform((url) => url && withoutName(url)),
  DATA_DIR: z.string().default('./data'),
  PORT: wholeNumber('PORT', 0, 65_535, 3000),
  HOST: z.string().optional(),
  APP_URL: origin('APP_URL'),
  BASE_URL: origin('BASE_URL'),
  TRUST_PROXY: wholeNumber('TRUST_PROXY', 0, 16, 0),
  SECRET_KEYS: list
    .pipe(
      z.array(
        z
          .string()
          .transform((text) => Buffer.from(text, 'base64'))
          .refine((key) => key.length === 32),
      ),
    )
    .catch(() =>
      problem(
        'SECRET_KEYS must be keys of 32 bytes in base64, separated by commas. `openssl rand -base64 32` creates a key.',
      ),
    ),
  SIGNUP: z
    .enum(['open', 'closed'])
    .default('open')
    .catch(() => problem('SIGNUP must be open or closed.')),
  OPERATORS: list
    .transform((addresses) => addresses.map((address) => address.toLowerCase()))
    .pipe(z.array(z.email()))
    .catch(() => problem('OPERATORS must be e-mail addresses, separated by commas.')),
  RATE_LIMIT: wholeNumber('RATE_LIMIT', 0, 1_000_000, 600),
  AUTH_RATE_LIMIT: wholeNumber('AUTH_RATE_LIMIT', 0, 1_000_000, 60),
  DATABASE_CONNECTIONS: wholeNumber('DATABASE_CONNECTIONS', 2, 1000, 10),
  WORKER_CONCURRENCY: wholeNumber('WORKER_CONCURRENCY', 1, 1000, 50),
  WORKER_PORT: wholeNumber('WORKER_PORT', 0, 65_535, 0),
  METRICS_PORT: wholeNumber('METRICS_PORT', 0, 65_535, null),
  OUTBOUND_ALLOW: list
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()]).refine((cidr) => !cidr.endsWith('/0'))))
    .catch(() =>
      problem('OUTBOUND_ALLOW must be networks such as 10.1.0.0/16, separated by commas. /0 is not allowed.'),
    ),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, hostname: /./ })
    .optional()
    .catch(() => problem('SMTP_URL must look like smtps://user:password@mail.example:465 or smtp://mail.example:587.')),
  MAIL_FROM: sender,
  BLUESKY_PLC_URL: origin('BLUESKY_PLC_URL').transform((url) => url ?? 'https://plc.directory'),
  FILES: z
    .enum(['local', 's3'])
    .default('local')
    .catch(() => problem('FILES must be local or s3.')),
  STORAGE_QUOTA: size('STORAGE_QUOTA', '10GB'),
  S3_ENDPOINT: origin('S3_ENDPOINT'),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: z.string().optional(),
  S3_ACCESS_KEY_ID: z.string().optional(),
  S3_SECRET_ACCESS_KEY: z.string().optional(),
  S3_FORCE_PATH_STYLE: z
    .enum(['true', 'false'])
    .optional()
    .catch(() => problem('S3_FORCE_PATH_STYLE must be true or false.')),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .catch(() => problem('LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent.')),
  REMIX_DEV_ORIGIN: z.string().optional(),
})

/** Where files are stored when they are not in dataDir. `endpoint` null: Amazon's endpoint for the region. */
export type Bucket = {
  endpoint: string | null
  region: string
  name: string
  accessKeyId: string
  secretAccessKey: string
  forcePathStyle: boolean // the bucket is in the path, not in the host name
}

/** The operator's mail server. `url` null (only in development): no mail is sent, /dev/mail shows them. */
export type MailSettings = { url: string | null; from: string }

export type Env = ReturnType<typeof readEnv>

/**
 * The process's settings, validated. The table in docs/operations.md explains each setting.
 *
 * Throws EnvError with one line for each wrong variable. An empty variable counts as absent.
 */
export function readEnv(variables: Record<string, string | undefined> = process.env) {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
  problems.length = 0
  const env = Variables.parse(given)
  const s3 = env.FILES === 's3' ? bucketIn(env) : null
  if (problems.length > 0) throw new EnvError(problems.join('\n'))
  const appUrl = env.APP_URL ?? `http://localhost:${env.PORT}`
  return {
    production: env.NODE_ENV === 'production',
    databaseUrl: env.DATABASE_URL ?? null, // null: the embedded PostgreSQL in dataDir
    dataDir: env.DATA_DIR,
    port: env.PORT,
    host: env.HOST ?? null, // null: every address
    appUrl,
    baseUrl: env.BASE_URL ?? appUrl,
    trustProxy: env.TRUST_PROXY,
    secretKeys: env.SECRET_KEYS.length > 0 ? (env.SECRET_KEYS as unknown as KeyRing) : null, // null: see dataDir
    signup: env.SIGNUP,
    operators: env.OPERATORS, // in lower case
    rateLimit: env.RATE_LIMIT, // requests per minute of one organisation; 0: no limit
    authRateLimit: env.AUTH_RATE_LIMIT,
    databaseConnections: env.DATABASE_CONNECTIONS,
    workerConcurrency: env.WORKER_CONCURRENCY,
    workerPort: env.WORKER_PORT,
    metricsPort: env.METRICS_PORT, // null: the web process serves no metrics
    outboundAllow: env.OUTBOUND_ALLOW,
    storageQuota: env.STORAGE_QUOTA, // bytes per organisation; 0: no limit
    s3, // null: files are in dataDir
    mail: mailIn(env, appUrl), // null: this installation sends no mail
    blueskyPlcUrl: env.BLUESKY_PLC_URL,
    logLevel: env.LOG_LEVEL,
    compilerOrigin: env.REMIX_DEV_ORIGIN ?? null, // in development: we notify this origin when a new build is served
  }
}

function mailIn(env: z.output<typeof Variables>, appUrl: string): MailSettings | null {
  const from = env.MAIL_FROM ?? `Punctual <no-reply@${new URL(appUrl).hostname}>`
  if (env.SMTP_URL) return { url: env.SMTP_URL, from }
  return env.NODE_ENV === 'production' ? null : { url: null, from }
}

function bucketIn(env: z.output<typeof Variables>): Bucket {
  return {
    endpoint: env.S3_ENDPOINT ?? null,
    region: env.S3_REGION,
    name: env.S3_BUCKET ?? problem('FILES=s3 requires S3_BUCKET: the name of a bucket that only Punctual uses.'),
    accessKeyId: env.S3_ACCESS_KEY_ID ?? problem('FILES=s3 requires S3_ACCESS_KEY_ID.'),
    secretAccessKey: env.S3_SECRET_ACCESS_KEY ?? problem('FILES=s3 requires S3_SECRET_ACCESS_KEY.'),
    forcePathStyle: env.S3_FORCE_PATH_STYLE ? env.S3_FORCE_PATH_STYLE === 'true' : env.S3_ENDPOINT !== undefined,
  }
}

/** The environment of this process with `changes`, for a process that it starts. */
export function variablesWith(changes: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...changes }
}

/** A sentence for each variable of this process that looks like a setting but is not one. */
export function misspeltSettings(variables: Record<string, string | undefined> = process.env): string[] {
  return misspelt(Object.keys(variables), Object.keys(Variables.shape)).map(
    ({ name, meant }) => `${name} is not a setting of Punctual: did you mean ${meant}?`,
  )
}

export class EnvError extends Error {}

const problems: string[] = []

function problem(sentence: string): never {
  problems.push(sentence)
  return undefined as never
}
