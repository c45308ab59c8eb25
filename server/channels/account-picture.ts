import { readFile, rm } from 'node:fs/promises'
import { OutboundError } from '../../jobs/outbound/outbound.ts'
import type { Installation } from '../access/trpc.ts'
import { Failure } from '../errors.ts'
import { MediaError } from '../media/format.ts'
import { fitPicture } from '../media/images.ts'

const PictureBytes = 5 * 1024 * 1024

/** Copy an account's picture, so that our pages load nothing from other sites. Null: there is none that we can show. */
export async function copyPicture(
  { files, outbound }: Pick<Installation, 'files' | 'outbound'>,
  url: string | null,
  organisationId: string,
): Promise<string | null> {
  if (!url) return null
  const path = await files.temporary()
  try {
    await outbound.download(url, { to: path, maxBytes: PictureBytes })
    return await fitPicture(files, await readFile(path), organisationId)
  } catch (error) {
    // A channel without a picture is better than no channel.
    if (error instanceof OutboundError || error instanceof MediaError || isTooMuch(error)) return null
    throw error
  } finally {
    await rm(path, { force: true })
  }
}

// Too many pictures of the organisation wait for their turn.
function isTooMuch(error: unknown): boolean {
  return error instanceof Failure && error.failure === 'rate_limited'
}
