import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const Root = join(import.meta.dirname, '..')
const Folders = ['db', 'jobs', 'server', 'app'] // a folder may import the folders on its left
const Counting = ['jobs/networks/check.ts', 'jobs/networks/text-length.ts', 'jobs/networks/links.ts']
const Pure = [
  'server/forms.ts',
  ...globSync('server/*/forms.ts', { cwd: Root }),
  'server/access/scopes.ts',
  'server/words.ts',
  'server/webhooks/event-names.ts',
  'server/api-requests/methods.ts',
  'server/oauth/redirect-uri.ts',
  ...Counting,
  'jobs/wall-clock.ts',
] // shared by pages and rules

type Import = { from: string; to: string; typeOnly: boolean } // `to` is one of our files, or a package
type Module = { file: string; source: ts.SourceFile; imports: Import[] }

const modules = globSync(`{${Folders}}/**/*.{ts,tsx}`, { cwd: Root }).map(parse)
const imports = modules.flatMap((module) => module.imports)
const importsOf = new Map(modules.map(({ file, imports }) => [file, imports]))
const values = imports.filter(({ typeOnly }) => !typeOnly)

describe('the folders', () => {
  test('a lower folder never imports a higher one', () => {
    const upward = imports.filter(({ from, to }) => level(to) > level(from) || to.startsWith('test/'))
    expect(upward.map(show)).toEqual([])
  })

  test('a page imports only types from outside app, except from forms, checks of content and the wall clock', () => {
    const taken = values.filter(({ from, to }) => level(from) === 3 && level(to) >= 0 && level(to) < 3)
    expect(taken.filter(({ to }) => !Pure.includes(to)).map(show)).toEqual([])
  })

  test('forms, checks of content and the wall clock import only zod, luxon and each other', () => {
    const taken = values.filter(({ from }) => Pure.includes(from))
    expect(taken.filter(({ to }) => !['zod', 'luxon', ...Pure].includes(to)).map(show)).toEqual([])
  })

  test('every relative import names a file', () => {
    expect(imports.filter(({ to }) => to.startsWith('?')).map(show)).toEqual([])
  })
})

// The rooms of a folder, in docs/architecture.md's order. Each imports rooms above it; in its own line, only those in
// `beside`.
const Rooms: Record<string, string[][]> = {
  jobs: [
    ['delivery-errors', 'timeouts-and-delays', 'notices', 'outbound', 'wall-clock'],
    ['networks'],
    ['ledger'],
    ['monitoring'],
    ['deps'],
    ['publish'],
    ['channels', 'queues', 'webhooks', 'mail', 'sweep'],
    ['worker'],
    ['index'],
  ],
  server: [
    ['error-catalogue'],
    ['errors', 'forms'],
    ['answers', 'http'],
    ['access'],
    ['accounts', 'api-requests', 'channels', 'guides', 'media', 'oauth', 'operations', 'posts', 'queues', 'webhooks'],
    ['router', 'words'],
    ['rest'],
    ['web'],
    ['run'],
    ['index'],
  ],
  app: [
    ['api', 'stylesheet', 'tailwind'],
    ['ui'],
    ['shell'],
    ['calendar', 'channels', 'developers', 'docs', 'feeds', 'operations', 'posts', 'queues', 'settings'],
    ['routes', 'root', 'entry'],
  ],
}
const beside: Record<string, string[]> = {
  'server/channels': ['media'],
  'server/oauth': ['media', 'webhooks'],
  'server/operations': ['accounts', 'channels', 'posts'],
  'server/queues': ['posts'],
  'app/calendar': ['posts', 'queues'],
  'app/developers': ['channels'],
  'app/operations': ['channels'],
  'app/posts': ['channels', 'queues'],
  'app/queues': ['channels'],
}
const FilesAtMost = 15

describe('the rooms', () => {
  test('each imports only rooms above it in the table, also for types', () => {
    const across = imports.filter(({ from, to }) => level(from) === level(to) && roomOf(from) !== roomOf(to))
    const wrong = across.filter(({ from, to }) => !mayImport(roomOf(from), roomOf(to)))
    expect(wrong.map(show)).toEqual([])
  })

  test('no files import each other in a circle, also for types', () => {
    expect(modules.map(({ file }) => file).filter((file) => reachedFrom(file).has(file))).toEqual([])
  })

  test(`none has more than ${FilesAtMost} files, not counting routes and migrations`, () => {
    const counts = new Map<string, number>()
    const files = [
      ...modules.map(({ file }) => file),
      ...globSync('test/**/*.{ts,tsx,js}', { cwd: Root, exclude: ['**/node_modules/**'] }),
    ]
    for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    const full = [...counts].filter(([room, count]) => count > FilesAtMost && room !== 'app/routes')
    expect(full).toEqual([])
  })
})

describe('one place for', () => {
  test.each([
    [
      'express',
      [
        'server/web/app.ts',
        'server/rest/rest.ts',
        'server/rest/problem.ts',
        'server/rest/openapi-http.ts',
        'server/rest/caller.ts',
        'server/rest/route.ts',
        'server/oauth/endpoints.ts',
        'server/web/files.ts',
        'server/web/pages.ts',
        'server/web/security-headers.ts',
        'server/web/static-files.ts',
        'server/web/waiting.ts',
      ],
    ],
    ['oslo', ['server/access/secrets.ts']],
    ['postgres', ['db/client.ts', 'db/embedded/installation.ts']], // installation.ts only to hold a lock
  ])('the package %s', (name, places) => {
    const users = imports.filter(({ to, from }) => to.split('/')[0] === name && !places.includes(from))
    expect(users.map(show)).toEqual([])
  })

  test('SQL in pages: nowhere', () => {
    expect(imports.filter(({ from, to }) => level(from) === 3 && to.startsWith('drizzle-orm')).map(show)).toEqual([])
  })

  test('the environment: db/env.ts', () => {
    expect(filesWith(isProcessEnv, ['db/env.ts'])).toEqual([])
  })

  test("SQL on the queue's tables: jobs/ledger/wake-ups.ts", () => {
    const namesQueue = (node: ts.Node) => isText(node) && node.text.includes('graphile_worker')
    expect(filesWith(namesQueue, ['jobs/ledger/wake-ups.ts'])).toEqual([])
  })

  test('random bytes of the server: server/access/secrets.ts', () => {
    const makesRandom = (node: ts.Node) =>
      ts.isIdentifier(node) && /^(randomBytes|randomInt|randomFill|getRandomValues)$/.test(node.text)
    const users = filesWith(makesRandom, ['server/access/secrets.ts'])
    expect(users.filter((file) => level(file) >= 2)).toEqual([])
  })
})

describe('files', () => {
  test('none is a barrel', () => {
    const passesOn = (node: ts.Node) => ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined
    const passesOnAll = (node: ts.Node) => ts.isExportDeclaration(node) && !node.exportClause
    const barrels = modules.filter(({ source }) => source.statements.every(passesOn)).map(({ file }) => file)
    expect([...barrels, ...filesWith(passesOnAll)]).toEqual([])
  })

  test('each is named after a noun of the field', () => {
    const vague = /(^|[/.-])(util|helper|service|common|lib|type|constant|misc|shared|manager|handler)s?([/.-]|$)/
    expect(modules.map(({ file }) => file).filter((file) => vague.test(file))).toEqual([])
  })

  test('none is longer than 300 lines', () => {
    const long = modules.filter(({ source }) => source.getLineStarts().length > 301).map(({ file }) => file)
    expect(long).toEqual([])
  })
})

/** The room of a file: `server/posts`. For a file outside the rooms, its name: `server/index`. */
function roomOf(file: string): string {
  return file.split('/').slice(0, 2).join('/').replace(/\..*$/, '')
}

function mayImport(from: string, to: string): boolean {
  const [folder = '', name = ''] = from.split('/')
  const lines = Rooms[folder]
  if (!lines) return true // db has few files, and its rooms have no order
  const lineOf = (room: string) => lines.findIndex((line) => line.includes(room))
  const other = to.split('/')[1] ?? ''
  if (lineOf(name) < 0 || lineOf(other) < 0) return false
  return lineOf(other) < lineOf(name) || (beside[from] ?? []).includes(other)
}

/** Every file that this one imports, directly or through others. */
function reachedFrom(file: string): Set<string> {
  const reached = new Set<string>()
  const left = [file]
  for (const next of left)
    for (const { to } of importsOf.get(next) ?? []) {
      if (reached.has(to)) continue
      reached.add(to)
      left.push(to)
    }
  return reached
}

function parse(file: string): Module {
  const source = ts.createSourceFile(file, readFileSync(join(Root, file), 'utf8'), ts.ScriptTarget.Latest, true)
  const found = nodesOf(source).flatMap((node) => importOf(node) ?? [])
  return { file, source, imports: found.map(({ to, typeOnly }) => ({ from: file, to: resolve(file, to), typeOnly })) }
}

function importOf(node: ts.Node): Omit<Import, 'from'> | null {
  const named = (specifier: ts.Node | undefined, typeOnly: boolean) =>
    specifier && ts.isStringLiteral(specifier) ? { to: specifier.text, typeOnly } : null
  if (ts.isImportDeclaration(node)) return named(node.moduleSpecifier, node.importClause?.isTypeOnly ?? false)
  if (ts.isExportDeclaration(node)) return named(node.moduleSpecifier, node.isTypeOnly)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return named(node.argument.literal, true)
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return named(node.arguments[0], false)
  return null
}

function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  const path = normalize(join(dirname(from), specifier))
  return (
    [path, `${path}.ts`, `${path}.tsx`].find((file) => /\.\w+$/.test(file) && existsSync(join(Root, file))) ??
    `?${path}`
  )
}

function filesWith(matches: (node: ts.Node) => boolean, except: string[] = []): string[] {
  return modules
    .filter(({ file, source }) => !except.includes(file) && nodesOf(source).some(matches))
    .map(({ file }) => file)
}

function nodesOf(node: ts.Node): ts.Node[] {
  const children: ts.Node[] = []
  node.forEachChild((child) => void children.push(child))
  return [node, ...children.flatMap(nodesOf)]
}

function isProcessEnv(node: ts.Node): boolean {
  return ts.isPropertyAccessExpression(node) && node.getText() === 'process.env'
}

function isText(node: ts.Node): node is ts.LiteralLikeNode {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)
}

function level(path: string): number {
  return Folders.indexOf(path.split('/')[0] ?? '')
}

function show({ from, to }: Import): string {
  return `${from} imports ${to}`
}
