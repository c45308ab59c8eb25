import { Link, useRevalidator } from '@remix-run/react'
import { useState } from 'react'
import { useAccount } from '../../shell/account.ts'
import { Instant } from '../../shell/instant.tsx'
import { Button, ButtonLink } from '../../ui/forms/button.tsx'
import { composerStrings } from '../composer/strings.tsx'
import { discard } from './discard.ts'

const strings = composerStrings.unfinished

type Text = { id: string; begin: string; updatedAt: string }

/** New posts that the person began and did not send, newest first. Not the one that is written on this page. */
export function Unfinished({ texts: all }: { texts: Text[] }) {
  // When the page reads itself again, the server also has the text that was begun here.
  const [first] = useState(() => new Set(all.map(({ id }) => id)))
  const texts = all.filter(({ id }) => first.has(id))
  const organisationId = useAccount()?.organisationId ?? ''
  const { revalidate } = useRevalidator()
  if (texts.length === 0) return null
  const remove = async (id: string) => {
    await discard(organisationId, id)
    revalidate()
  }
  return (
    <section aria-labelledby="unfinished" className="mb-6 rounded-2xl border border-line bg-panel shadow-sm">
      <h2 id="unfinished" className="px-5 pt-4 text-sm font-medium sm:px-6">
        {strings.title}
      </h2>
      <ul className="max-h-96 divide-y divide-line overflow-y-auto">
        {texts.map(({ id, begin, updatedAt }) => (
          <li key={id} className="flex flex-wrap items-center gap-2 px-5 py-2.5 sm:px-6">
            <Link to={`/posts/new?copy=${id}`} dir="auto" className="min-w-0 basis-full truncate sm:flex-1 sm:basis-0">
              {begin || strings.noText}
            </Link>
            <span className="mr-auto text-sm text-muted sm:mr-0">
              <Instant at={updatedAt} />
            </span>
            <ButtonLink to={`/posts/new?copy=${id}`} aria-label={strings.goOnWith(begin || strings.noText)}>
              {strings.goOn}
            </ButtonLink>
            <Button
              look="quiet"
              onClick={() => void remove(id).catch(() => {})}
              aria-label={strings.discardThe(begin || strings.noText)}
            >
              {strings.discard}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}
