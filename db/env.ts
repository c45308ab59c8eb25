import { z } from 'zod'
import type { KeyRing } from './sealed.ts'

const wholeNumber = (name: string, least: number, most: number, fallback: number) =>
  z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .refine((n) => n >= least && n <= most)
    .or(z.undefined().transform(() => fallback))
    .catch(() => problem(`${name} must be a whole number from ${least} to ${most}.`))

const origin = (name: string) =>
  z
    .url({ protocol: /^https?$/ })
    .refine((url) => URL.canParse(url) && new URL(url).origin === url)
    .optional()
    .catch(() =>
      problem(`${name} must be an origin such as https://punctual.example, without a path or a trailing slash.`),
    )

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
    .catch(() => problem('DATABASE_URL must look like postgres://user:password@host:5432/database.')),
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
      problem('SECRET_KEYS must be base64 of 32 bytes each, with commas between: `openssl rand -base64 32` makes one.'),
    ),
  SIGNUP: z
    .enum(['open', 'closed'])
    .default('open')
    .catch(() => problem('SIGNUP must be open or closed.')),
  RATE_LIMIT: wholeNumber('RATE_LIMIT', 0, 1_000_000, 600),
  AUTH_RATE_LIMIT: wholeNumber('AUTH_RATE_LIMIT', 0, 1_000_000, 60),
  DATABASE_CONNECTIONS: wholeNumber('DATABASE_CONNECTIONS', 2, 1000, 10),
  WORKER_CONCURRENCY: wholeNumber('WORKER_CONCURRENCY', 1, 1000, 50),
  WORKER_PORT: wholeNumber('WORKER_PORT', 0, 65_535, 0),
  OUTBOUND_ALLOW: list
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()]).refine((cidr) => !cidr.endsWith('/0'))))
    .catch(() => problem('OUTBOUND_ALLOW must be networks such as 10.1.0.0/16, with commas between; /0 is refused.')),
  BLUESKY_PLC_URL: origin('BLUESKY_PLC_URL').transform((url) => url ?? 'https://plc.directory'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .catch(() => problem('LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent.')),
  REMIX_DEV_ORIGIN: z.string().optional(),
})

export type Env = ReturnType<typeof readEnv>

/**
 * The process's settings, checked; the table in README.md says what each does.
 *
 * Throws EnvError with one sentence a line for each variable that is wrong. An empty variable counts as absent.
 */
export function readEnv(variables: Record<string, string | undefined> = process.env) {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
  problems.length = 0
  const env = Variables.parse(given)
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
    secretKeys: env.SECRET_KEYS.length > 0 ? (env.SECRET_KEYS as unknown as KeyRing) : null, // null: those kept in dataDir
    signup: env.SIGNUP,
    rateLimit: env.RATE_LIMIT, // requests a minute of one organisation; 0: no bound
    authRateLimit: env.AUTH_RATE_LIMIT,
    databaseConnections: env.DATABASE_CONNECTIONS,
    workerConcurrency: env.WORKER_CONCURRENCY,
    workerPort: env.WORKER_PORT,
    outboundAllow: env.OUTBOUND_ALLOW,
    blueskyPlcUrl: env.BLUESKY_PLC_URL,
    logLevel: env.LOG_LEVEL,
    compilerOrigin: env.REMIX_DEV_ORIGIN ?? null, // in development: who wants to know that a new build is served
  }
}

/** The environment of this process with `changes` on top: for one that it starts. */
export function variablesWith(changes: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...changes }
}

export class EnvError extends Error {}

const problems: string[] = []

function problem(sentence: string): never {
  problems.push(sentence)
  return undefined as never
}
