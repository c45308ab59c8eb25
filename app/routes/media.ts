import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type ActionFunctionArgs, json, unstable_parseMultipartFormData } from '@remix-run/node'
import { problemOf, signedIn } from '../api.ts'

const MostBytes = 20 * 1024 * 1024

/** Take in one image of the composer: multipart `file`. Answers `{ media }`, or `{ problem }` with a sentence. */
export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const path = await args.context.temporaryFile()
  try {
    await unstable_parseMultipartFormData(args.request, async ({ name, data }) =>
      name === 'file' ? pipeline(data, atMost(MostBytes), createWriteStream(path)).then(() => name) : null,
    )
    return json({ media: await api.media.create({ path, alt: '' }) })
  } catch (error) {
    if (error instanceof TooLarge) return json({ problem: 'Larger than 20 MB.' }, 413)
    const { detail, status } = problemOf(error)
    return json({ problem: detail }, status)
  } finally {
    await rm(path, { force: true })
  }
}

class TooLarge extends Error {}

function atMost(most: number) {
  return async function* (data: AsyncIterable<Uint8Array>) {
    let bytes = 0
    for await (const chunk of data) {
      bytes += chunk.length
      if (bytes > most) throw new TooLarge()
      yield chunk
    }
  }
}
