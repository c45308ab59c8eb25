import { useNavigate, useRevalidator } from '@remix-run/react'
import type { ReactNode } from 'react'
import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { Override, Post } from '../../../jobs/ledger/post-view.ts'
import { useAccount } from '../../shell/account.ts'
import { PostForm } from '../../shell/post-form.tsx'
import { Button, ButtonLink, Submit } from '../../ui/forms/button.tsx'
import { Warning } from '../../ui/warning.tsx'
import { composerStrings } from '../composer/strings.tsx'
import type { Typed } from '../composer/typed.ts'
import { discard } from './discard.ts'
import { type Fields, typedOf } from './fields.ts'
import { SignInAgain } from './sign-in-again.tsx'
import type { Saving } from './use-working-copy.ts'

const strings = composerStrings.copy

type NoticesProps = {
  post: Post | null
  channels: Channel[]
  saving: Saving
  untouched: Fields
  replace: (fields: Fields) => void
}

/** What the person must know or decide about the text in the form. One at a time: the most urgent. */
export function CopyNotices({ post, channels, saving, untouched, replace }: NoticesProps) {
  const { state, current, isRestored, other, organisationId, flush, goOn, restart } = saving
  const navigate = useNavigate()
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
  if (state.is === 'gone') {
    const asNew = async () => {
      goOn({ id: state.nextId, isNew: true, revision: 0, postVersion: null })
      if ((await flush()).is === 'saved') navigate(`/posts/new?copy=${state.nextId}`)
    }
    return (
      <Notice text={strings.gone}>
        <Button onClick={() => void asNew()}>{strings.asAnother}</Button>
      </Notice>
    )
  }
  if (other) return <OtherText other={other} channels={channels} saving={saving} replace={replace} />
  if (isChanged)
    return (
      <TwoTexts
        text={strings.postChanged}
        other={typedOf(untouched)}
        channels={channels}
        onKeep={() => goOn({ postVersion: post.version })}
        onUse={() => void startOver().catch(() => {})}
      />
    )
  if (!isRestored) return null
  return (
    <Notice text={strings.restored}>
      <Button onClick={() => void startOver().catch(() => {})}>{strings.discard}</Button>
    </Notice>
  )
}

type OtherTextProps = Pick<NoticesProps, 'channels' | 'saving' | 'replace'> & { other: Fields }

function OtherText({ other, channels, saving: { state, settle, goOn }, replace }: OtherTextProps) {
  const change = state.is === 'elsewhere' ? { revision: state.copy.revision } : {}
  const choose = (fields: Fields | null) => {
    if (fields) replace(fields)
    settle()
    goOn(change)
  }
  return (
    <TwoTexts
      text={strings.otherText}
      other={typedOf(other)}
      channels={channels}
      onKeep={() => choose(null)}
      onUse={() => choose(other)}
    />
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

/** A text that was begun for a post which can no longer be changed. */
export function LeftText({ copy, channels }: { copy: Parts; channels: Channel[] }) {
  return (
    <Warning>
      <p>{strings.left}</p>
      <Text parts={copy} channels={channels} />
      <PostForm className="flex flex-wrap gap-2">
        <Submit name="intent" value="copy-as-new">
          {strings.asAnother}
        </Submit>
        <Submit name="intent" value="copy-discard">
          {strings.discard}
        </Submit>
      </PostForm>
    </Warning>
  )
}

type Parts = Pick<Typed, 'content' | 'mediaIds' | 'overrides'>

function Text({ parts: { content, mediaIds, overrides }, channels }: { parts: Parts; channels: Channel[] }) {
  return (
    <blockquote
      dir="auto"
      className="max-h-48 overflow-auto whitespace-pre-wrap rounded-lg border border-line bg-panel p-3 text-ink"
    >
      {content || (overrides.length > 0 ? '' : strings.empty)}
      {mediaIds.length > 0 ? <span className="block text-muted">{strings.files(mediaIds.length)}</span> : null}
      {overrides.map((own) => (
        <OwnText key={own.channelId} own={own} channel={channels.find(({ id }) => id === own.channelId)} />
      ))}
    </blockquote>
  )
}

function OwnText({ own: { content, mediaIds }, channel }: { own: Override; channel: Channel | undefined }) {
  const name = <bdi>{channel?.name ?? strings.unknownChannel}</bdi>
  return (
    <span className="mt-2 block">
      {content === undefined ? null : (
        <>
          <span className="block text-muted">{strings.ownText(name)}</span>
          <span dir="auto" className="block">
            {content}
          </span>
        </>
      )}
      {mediaIds ? <span className="block text-muted">{strings.ownFiles(name, mediaIds.length)}</span> : null}
    </span>
  )
}

type TwoTextsProps = { text: string; other: Parts; channels: Channel[]; onKeep: () => void; onUse: () => void }

function TwoTexts({ text, other, channels, onKeep, onUse }: TwoTextsProps) {
  return (
    <Warning>
      <p>{text}</p>
      <Text parts={other} channels={channels} />
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
