import { docsStrings } from './strings.tsx'

/** Links to the sections of a page. */
export function Contents({ sections }: { sections: { id: string; title: string }[] }) {
  return (
    <nav aria-label={docsStrings.contents} className="my-5 text-sm">
      <ul className="columns-1 gap-8 space-y-1.5 sm:columns-2">
        {sections.map(({ id, title }) => (
          <li key={id}>
            <a href={`#${id}`} className="text-accent-ink hover:underline">
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
