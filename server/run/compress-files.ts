import { glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Write a .br and a .gz beside each script, style sheet and drawing in `dir`, as small as they get. server/web/static-files.ts sends them. */
export async function compressFiles(dir: string): Promise<void> {
  for await (const file of glob('**/*.{js,css,svg}', { cwd: dir })) {
    const plain = await readFile(join(dir, file))
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } // its quality is the highest by default
    await Promise.all([
      promisify<Buffer, object, Buffer>(brotliCompress)(plain, { params }).then((br) =>
        writeFile(join(dir, `${file}.br`), br),
      ),
      promisify<Buffer, object, Buffer>(gzip)(plain, { level: 9 }).then((gz) => writeFile(join(dir, `${file}.gz`), gz)),
    ])
  }
}
