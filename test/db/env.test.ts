import { expect, test } from 'vitest'
import { EnvError, misspeltSettings, readEnv } from '../../db/env.ts'

test('each wrong variable gets its own sentence, and all are listed at once', () => {
  const wrong = {
    PORT: '80000',
    APP_URL: 'example',
    SECRET_KEYS: 'c2hvcnQ=',
    OUTBOUND_ALLOW: '0.0.0.0/0',
    SIGNUP: 'maybe',
    STORAGE_QUOTA: '10 apples',
  }

  expect(sentencesOf(wrong)).toEqual([
    'PORT must be a whole number from 0 to 65535.',
    'APP_URL must be an origin such as https://punctual.example, without a path or a trailing slash.',
    'SECRET_KEYS must be keys of 32 bytes in base64, separated by commas. `openssl rand -base64 32` creates a key.',
    'SIGNUP must be open or closed.',
    'OUTBOUND_ALLOW must be networks such as 10.1.0.0/16, separated by commas. /0 is not allowed.',
    'STORAGE_QUOTA must be a size in bytes, KB, MB, GB or TB, for example 10GB. 0 means no limit.',
  ])
})

test('a size is a number of bytes, or of KB, MB, GB or TB', () => {
  const bytes = (STORAGE_QUOTA?: string) => readEnv(STORAGE_QUOTA ? { STORAGE_QUOTA } : {}).storageQuota
  expect([bytes('1000'), bytes('2KB'), bytes('3 mb'), bytes('1TB')]).toEqual([1000, 2048, 3 * 1024 ** 2, 1024 ** 4])
  expect([bytes('0'), bytes()]).toEqual([0, 10 * 1024 ** 3])
  for (const wrong of ['-1', '1.5GB', 'GB', '999999999999999TB'])
    expect(sentencesOf({ STORAGE_QUOTA: wrong })).toHaveLength(1)
})

test('an address with a path or a trailing slash is not an origin', () => {
  for (const BASE_URL of ['https://a.example/', 'https://a.example/api', 'ftp://a.example'])
    expect(sentencesOf({ BASE_URL })).toHaveLength(1)
})

test('a bucket needs all its settings: each missing or wrong one is named, and local files need none', () => {
  expect(sentencesOf({ FILES: 's3', S3_ENDPOINT: 'minio:9000', S3_FORCE_PATH_STYLE: 'yes' })).toEqual([
    'S3_ENDPOINT must be an origin such as https://punctual.example, without a path or a trailing slash.',
    'S3_FORCE_PATH_STYLE must be true or false.',
    'FILES=s3 requires S3_BUCKET: the name of a bucket that only Punctual uses.',
    'FILES=s3 requires S3_ACCESS_KEY_ID.',
    'FILES=s3 requires S3_SECRET_ACCESS_KEY.',
  ])
  expect(sentencesOf({ FILES: 'disk' })).toEqual(['FILES must be local or s3.'])
  expect(readEnv({}).s3).toBeNull()
})

test('an S3 server with an endpoint gets the bucket in the path, Amazon gets it in the host name', () => {
  const bucket = { FILES: 's3', S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' }
  const minio = readEnv({ ...bucket, S3_ENDPOINT: 'http://minio:9000' }).s3
  expect(minio).toMatchObject({ endpoint: 'http://minio:9000', region: 'us-east-1', forcePathStyle: true })
  expect(readEnv({ ...bucket, S3_REGION: 'eu-west-1' }).s3).toMatchObject({ endpoint: null, forcePathStyle: false })
})

test('an application_name in DATABASE_URL is removed: our connections have their own names', () => {
  const urlOf = (query: string) => readEnv({ DATABASE_URL: `postgres://a:b%2F@db:5432/punctual${query}` }).databaseUrl
  expect(urlOf('?sslmode=require&application_name=posts')).toBe('postgres://a:b%2F@db:5432/punctual?sslmode=require')
  expect(urlOf('?sslmode=require')).toBe('postgres://a:b%2F@db:5432/punctual?sslmode=require')
})

test('an empty variable counts as absent', () => {
  expect(readEnv({ PORT: '', APP_URL: '', SECRET_KEYS: '' })).toMatchObject({ port: 3000, secretKeys: null })
})

test('a variable that resembles a setting is reported with the setting it resembles; other variables are not', () => {
  const wrong = ['SECRET_KEY', 'DATABSE_URL', 'APPURL', 'port', 'OPERATOR', 'METRIC_PORT', 'TRUSTED_PROXY', 'DATABASE']
  const told = misspeltSettings(Object.fromEntries(wrong.map((name) => [name, 'x'])))
  const meant = [
    'SECRET_KEYS',
    'DATABASE_URL',
    'APP_URL',
    'PORT',
    'OPERATORS',
    'METRICS_PORT',
    'TRUST_PROXY',
    'DATABASE_URL',
  ]
  expect(told).toEqual(wrong.map((name, i) => `${name} is not a setting of Punctual: did you mean ${meant[i]}?`))
  const usual = [
    'PATH',
    'HOME',
    'HOSTNAME',
    'PWD',
    'NODE',
    'LOGNAME',
    'MAIL',
    'POSTGRES_PASSWORD',
    'AWS_REGION',
    'PGPORT',
    'TZ',
  ]
  expect(misspeltSettings(Object.fromEntries([...usual, 'APP_URL', 'SECRET_KEYS'].map((name) => [name, 'x'])))).toEqual(
    [],
  )
})

function sentencesOf(variables: Record<string, string>): string[] {
  try {
    readEnv(variables as unknown as NodeJS.ProcessEnv)
    return []
  } catch (error) {
    if (!(error instanceof EnvError)) throw error
    return error.message.split('\n')
  }
}
