import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

// No text for people has a phrase from the left column of the last table in docs/words.md.

const Root = join(import.meta.dirname, '..')
const Rules = 'docs/words.md'
const Code = ['app', 'server', 'jobs', 'db']
const Docs = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  '.env.example',
  'docs/*.md',
  'docs/api/*.md',
  'docs/*.yaml',
]

type Passage = { text: string; start: number } // its offset in the file

const banned = bannedPhrases()
const pattern = new RegExp(`\\b(?:${banned.map(acrossLines).join('|')})\\b`, 'gi')

test('the table of banned phrases can be read', () => {
  expect(banned).toContain('whoever')
  expect(banned.length).toBeGreaterThan(20)
})

test('no text or comment in the code has a banned phrase', () => {
  const files = globSync(`{${Code}}/**/*.{ts,tsx}`, { cwd: Root })
  expect(files.length).toBeGreaterThan(100)
  expect(files.flatMap((file) => findIn(file, passagesOf))).toEqual([])
})

test('the docs have no banned phrase', () => {
  const files = globSync(Docs, { cwd: Root }).filter((file) => file !== Rules)
  expect(files.length).toBeGreaterThan(10)
  expect(files.flatMap((file) => findIn(file, (text) => [{ text, start: 0 }]))).toEqual([])
})

/** The phrases in the left column of the table, which are separated by commas. */
function bannedPhrases(): string[] {
  const table = readFileSync(join(Root, Rules), 'utf8').split('| Not | But |\n|---|---|\n')[1] ?? ''
  const lefts = [...table.matchAll(/^\| ([^|]+) \|/gm)].map((match) => match[1] ?? '')
  return lefts.flatMap((left) => left.split(', '))
}

/** A phrase may be broken over two lines of a comment: blanks, slashes and stars may stand between its words. */
function acrossLines(phrase: string): string {
  return phrase.split(' ').join('[\\s/*#]+')
}

/** Each place in the file as `file:line: phrase`. */
function findIn(file: string, read: (text: string, file: string) => Passage[]): string[] {
  const whole = readFileSync(join(Root, file), 'utf8')
  return read(whole, file).flatMap(({ text, start }) =>
    [...text.matchAll(pattern)].map(({ 0: phrase, index }) => {
      const line = whole.slice(0, start + index).split('\n').length
      return `${file}:${line}: ${phrase.replace(/[\s/*#]+/g, ' ')}`
    }),
  )
}

/** The texts and comments of a TypeScript file. */
function passagesOf(whole: string, file: string): Passage[] {
  const source = ts.createSourceFile(file, whole, ts.ScriptTarget.Latest, true)
  const passages: Passage[] = []
  const visit = (node: ts.Node) => {
    if (ts.isJSDoc(node)) return // the comment is found before the token that follows it
    const children = node.getChildren(source)
    for (const child of children) visit(child)
    if (children.length > 0) return
    const start = node.getStart(source)
    passages.push({ text: whole.slice(node.getFullStart(), start), start: node.getFullStart() }) // blanks and comments
    if (isText(node)) passages.push({ text: whole.slice(start, node.getEnd()), start })
  }
  visit(source)
  return passages
}

function isText(node: ts.Node): boolean {
  return (
    ts.isStringLiteralLike(node) ||
    ts.isJsxText(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddleOrTemplateTail(node)
  )
}
