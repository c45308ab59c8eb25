import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import {
  unstable_composeUploadHandlers as composed,
  unstable_createMemoryUploadHandler as inMemory,
  unstable_parseMultipartFormData as parts,
} from '@remix-run/node'
import { formOf, type LoadContext } from './api.ts'

const MostBytes = 20 * 1024 * 1024

/**
 * Read a form with at most one file, in its field `name`, and remove the file when `does` is done. `path` is null when
 * none was chosen; the form has the file's name in the field otherwise. Of a larger file than an image may be, as much
 * is kept as shows that it is.
 */
export async function withUpload<T>(
  { request, context }: { request: Request; context: LoadContext },
  name: string,
  does: (form: FormData, path: string | null) => Promise<T>,
): Promise<T> {
  if (!request.headers.get('content-type')?.startsWith('multipart/')) return does(await formOf(request), null)
  const path = await context.temporaryFile()
  let isWritten = false // the form cannot tell: the field may have come as a text
  try {
    const file: Parameters<typeof composed>[0] = async ({ name: field, filename, data }) => {
      if (field !== name || !filename) return null
      isWritten = true
      await pipeline(data, upTo(MostBytes + 1), createWriteStream(path))
      return filename
    }
    const text = inMemory({ filter: ({ filename }) => filename === undefined })
    const form = await formOf(request, (request) => parts(request, composed(file, text)))
    return await does(form, isWritten ? path : null)
  } finally {
    await rm(path, { force: true })
  }
}

function upTo(most: number) {
  return async function* (data: AsyncIterable<Uint8Array>) {
    let left = most
    for await (const chunk of data) {
      if (left > 0) yield chunk.subarray(0, left)
      left -= chunk.length
    }
  }
}
