import { useRevalidator } from '@remix-run/react'
import type { ReactNode } from 'react'
import type { Post } from '../../../jobs/ledger/post-view.ts'
import { useAccount } from '../../shell/account.ts'
import { Button, ButtonLink } from '../../ui/forms/button.tsx'
import { Warning } from '../../ui/warning.tsx'
import { composerStrings } from '../composer/strings.tsx'
import { discard } from './discard.ts'
import type { Fields } from './fields.ts'
import { SignInAgain } from './sign-in-again.tsx'
import type { Saving } from './use-working-copy.ts'

const strings = composerStrings.copy

type NoticesProps = { post: Post | null; saving: Saving; untouched: Fields; replace: (fields: Fields) => void }

/** What the person must know or decide about the text in the form. One at a time: the most urgent. */
export function CopyNotices({ post, saving, untouched, replace }: NoticesProps) {
  const { state, current, isRestored, other, organisationId, goOn, restart, settle } = saving
  const startOver = async () => {
    await discard(organisationId, current.id)
    replace(untouched)
    restart({ ...current, revision: 0, postVersion: post?.version ?? null })
  }
  const isChanged = post !== null && current.postVersion !== null && post.version !== current.postVersion
  if (state.is === 'signed-out') return <SignInAgain organisationId={organisationId} state={state} onDone={goOn} />
  if (state.is === 'wrong-organisation') return <OtherOrganisation id={organisationId} onDone={goOn} />
  if (state.is === 'sent')
    return (
      <Notice text={strings.sent}>
        <ButtonLink to={`/posts/${current.id}`}>{strings.showPost}</ButtonLink>
        <Button onClick={() => goOn({ id: state.nextId, revision: 0 })}>{strings.asAnother}</Button>
      </Notice>
    )
  if (other) {
    const change = state.is === 'elsewhere' ? { revision: state.copy.revision } : {}
    const choose = (fields: Fields | null) => {
      if (fields) replace(fields)
      settle()
      goOn(change)
    }
    return <TwoTexts text={strings.otherText} other={other} onKeep={() => choose(null)} onUse={() => choose(other)} />
  }
  if (isChanged)
    return (
      <TwoTexts
        text={strings.postChanged}
        other={untouched}
        onKeep={() => goOn({ postVersion: post.version })}
        onUse={startOver}
      />
    )
  if (!isRestored) return null
  return (
    <Notice text={strings.restored}>
      <Button onClick={startOver}>{strings.discard}</Button>
    </Notice>
  )
}

function Notice({ text, children }: { text: string; children: ReactNode }) {
  return (
    <Warning>
      <p>{text}</p>
      <div className="flex flex-wrap gap-2">{children}</div>
    </Warning>
  )
}

type TwoTextsProps = { text: string; other: Fields; onKeep: () => void; onUse: () => void }

function TwoTexts({ text, other, onKeep, onUse }: TwoTextsProps) {
  return (
    <Warning>
      <p>{text}</p>
      <blockquote className="max-h-48 overflow-auto whitespace-pre-wrap rounded-lg border border-line bg-panel p-3 text-ink">
        {other.content || strings.empty}
        {other.media.length > 0 ? <p className="text-muted">{strings.files(other.media.length)}</p> : null}
      </blockquote>
      <div className="flex flex-wrap gap-2">
        <Button onClick={onKeep}>{strings.keepMine}</Button>
        <Button onClick={onUse}>{strings.useOther}</Button>
      </div>
    </Warning>
  )
}

function OtherOrganisation({ id, onDone }: { id: string; onDone: () => void }) {
  const { revalidate } = useRevalidator()
  const name = useAccount()?.organisations.find((one) => one.id === id)?.name ?? strings.thatOrganisation
  const goBack = async () => {
    await fetch('/organisation', { method: 'POST', body: new URLSearchParams({ id }), redirect: 'manual' })
    revalidate()
    onDone()
  }
  return (
    <Notice text={strings.wrongOrganisation(name)}>
      <Button onClick={() => void goBack().catch(() => {})}>{strings.goBack(name)}</Button>
    </Notice>
  )
}
