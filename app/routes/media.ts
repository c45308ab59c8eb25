import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type ActionFunctionArgs, json, unstable_parseMultipartFormData as parts, redirect } from '@remix-run/node'
import { bodyProblemOf, brokenForm, type Problem, problemOf, signedIn } from '../api.ts'

const MostBytes = 20 * 1024 * 1024

/** Take in one image of the composer: multipart `file`. Answers `{ media }`, or `{ problem }` with a sentence. */
export async function action(args: ActionFunctionArgs) {
  const { api } = signedIn(args)
  const path = await args.context.temporaryFile()
  try {
    const problem = await receive(args.request, path)
    if (problem) return json({ problem: problem.detail }, problem.status)
    return json({ media: await api.media.create({ path, alt: '' }) })
  } catch (error) {
    const { detail, status } = problemOf(error)
    return json({ problem: detail }, status)
  } finally {
    await rm(path, { force: true })
  }
}

export function loader() {
  return redirect('/')
}

/** Write the file to `path`. Answers what is wrong with the body, if anything is. */
async function receive(request: Request, path: string): Promise<Problem | null> {
  try {
    const form = await parts(request, async ({ name, data }) =>
      name === 'file' ? pipeline(data, atMost(MostBytes), createWriteStream(path)).then(() => name) : null,
    )
    return form.has('file') ? null : brokenForm
  } catch (error) {
    if (error instanceof TooLarge) return { status: 413, detail: 'Larger than 20 MB.', errors: [], headers: {} }
    return bodyProblemOf(error)
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
