import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

// A statement is prepared once per connection. After a migration adds a column, `*` returns other columns than the
// prepared statement had, and PostgreSQL refuses it (0A000). Within a transaction, the caller fails. So a statement
// names the columns that it returns. Inside parentheses, `*` does no harm.

const Root = join(import.meta.dirname, '../..')

test('no statement returns `*` (except inside parentheses)', () => {
  const files = globSync('{db,jobs,server}/**/*.ts', { cwd: Root })
  const given = files.flatMap((file) => statementsOf(file).filter(({ text }) => givesStar(text)))
  expect(given.map(({ place }) => place)).toEqual([])
})

test.each([
  ['select * from posts', true],
  ['select p.id, v.* from posts p', true],
  ['select distinct * from posts', true],
  ['update posts set version = version * 2 returning *', true],
  ['with p as (select * from posts) select p.id from p', false],
  ['select count(*), 2 * 3 from posts where id in (select p.* from p)', false],
  ["select '*' as star -- select *", false],
])('%s: %s', (text, expected) => {
  expect(givesStar(text)).toBe(expected)
})

/** Each template tagged `sql` in a file, without the values put into it. */
function statementsOf(file: string): { place: string; text: string }[] {
  const source = ts.createSourceFile(file, readFileSync(join(Root, file), 'utf8'), ts.ScriptTarget.Latest, true)
  const found: { place: string; text: string }[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText(source).startsWith('sql')) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
      found.push({ place: `${file}:${line + 1}`, text: textOf(node.template) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function textOf(template: ts.TemplateLiteral): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.text
  return [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)].join(' _ ')
}

function givesStar(text: string): boolean {
  let plain = text.replace(/--.*/g, '').replace(/'[^']*'/g, '_')
  for (let before = ''; before !== plain; ) {
    before = plain
    plain = plain.replace(/\([^()]*\)/g, '_')
  }
  return /(\bselect\s+(distinct\s+)?|\breturning\s+|,\s*|\.)\*/i.test(plain)
}
