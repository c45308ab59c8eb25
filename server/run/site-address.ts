import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Env, readEnv } from '../../db/env.ts'

// Where the site is. `npm start` may get its port in its own environment, or take any free one. A command that runs later
// in another shell reads the address from the data folder, so that it prints the links that the web process serves.

type Variables = Record<string, string | undefined>

const Noted = z.object({ APP_URL: z.string(), BASE_URL: z.string() })

/** Note the addresses of an installation with an embedded database. Processes on DATABASE_URL share their settings. */
export async function noteAddresses({ dataDir, databaseUrl, appUrl, baseUrl }: Env): Promise<void> {
  if (databaseUrl) return
  await writeFile(`${fileIn(dataDir)}.new`, `${JSON.stringify({ APP_URL: appUrl, BASE_URL: baseUrl })}\n`)
  await rename(`${fileIn(dataDir)}.new`, fileIn(dataDir))
}

/** `variables` with the noted addresses, unless they say where the site is. */
export async function withAddresses(variables: Variables): Promise<Variables> {
  if (variables.APP_URL || Number(variables.PORT) || variables.DATABASE_URL) return variables
  const noted = await notedIn(fileIn(readEnv(variables).dataDir))
  if (noted === null) return variables
  return { ...variables, APP_URL: noted.APP_URL, BASE_URL: variables.BASE_URL || noted.BASE_URL }
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'site.json')
}

// Null also for a file that cannot be read: a command such as `pause` must not need it.
async function notedIn(file: string): Promise<{ APP_URL: string; BASE_URL: string } | null> {
  try {
    return Noted.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return null
  }
}
