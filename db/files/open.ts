import type { Env } from '../env.ts'
import type { Files } from './files.ts'
import { localFiles } from './local.ts'
import { s3Files } from './s3.ts'

/** The file storage that the environment names. */
export async function openFiles({ dataDir, s3 }: Env): Promise<Files> {
  return s3 ? s3Files(dataDir, s3) : localFiles(dataDir)
}
