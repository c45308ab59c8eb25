import { writeFile } from 'node:fs/promises'
import openapiTypes, { astToString } from 'openapi-typescript'
import { openApi } from './openapi.ts'

/**
 * `npm run client -- FILE`: the public API as TypeScript types, for openapi-fetch (https://openapi-ts.dev/openapi-fetch).
 * They are made from the document that /public/v1/openapi.json serves.
 */
const file = process.argv[2] ?? 'build/punctual.d.ts'
const hosts = { appUrl: 'http://localhost:3000', baseUrl: 'http://localhost:3000' }
await writeFile(file, astToString(await openapiTypes(JSON.stringify(openApi(hosts)))))
process.stdout.write(`${file}\n`)
