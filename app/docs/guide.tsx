import type { Guide } from '../../server/guides/markdown.ts'
import { Sample } from '../ui/copy.tsx'
import { Contents } from './contents.tsx'
import { docsStrings } from './strings.tsx'

/** A page of the documentation that is a Markdown file of docs/. */
export function GuideShown({ guide }: { guide: Guide }) {
  const { title, lead, sections } = guide
  return (
    <article className="max-w-3xl">
      <h1 className="font-semibold text-2xl tracking-tight">{title}</h1>
      <p className="mt-1 text-muted">{lead}</p>
      {sections.length > 4 ? <Contents sections={sections} /> : null}
      <div className="mt-6 space-y-3">
        {partsOf(guide).map((part, i) =>
          part.kind === 'sample' ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: a guide never changes while it is read
            <Sample key={i} copyName={part.copyName} text={part.text} />
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: a guide never changes while it is read
            // biome-ignore lint/security/noDangerouslySetInnerHtml: made of our own files, whose HTML is escaped
            <div key={i} className="guide" dangerouslySetInnerHTML={{ __html: part.html }} />
          ),
        )}
      </div>
    </article>
  )
}

/** The guide's parts; each sample gets a name from its section and its number there. */
function partsOf({ title, sections, parts }: Guide) {
  let section = title
  let count = 0
  return parts.map((part) => {
    if (part.kind === 'sample') return { ...part, copyName: docsStrings.copyExample(++count, section) }
    const last = sections.findLast(({ id }) => part.html.includes(`<h2 id="${id}">`))
    if (last) [section, count] = [last.title, 0]
    return part
  })
}
