import { Link2 } from 'lucide-react'
import { Fragment } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import type { Preview } from '../../../../jobs/networks/network.ts'
import { ChannelMark, networkName } from '../../../channels/channel-mark.tsx'
import type { Verdict } from '../checks/checks.ts'
import { FilePicture } from '../media/file-picture.tsx'
import { composerStrings } from '../strings.tsx'
import type { Picked } from '../uploads.ts'
import { firstHost, partsOf } from './parts.ts'

const strings = composerStrings.preview

/** A post as the channel's network shows it, by the network's `preview`. */
export function PreviewCard({ verdict, preview }: { verdict: Verdict; preview: Preview }) {
  const { channel, text, media } = verdict
  const host = preview.linkCard && media.length === 0 ? firstHost(text) : null
  const size = preview.textSize === 'large' ? 'text-lg leading-snug' : 'text-sm'
  return (
    <article aria-label={strings.of(networkName(channel.network))} className="space-y-3">
      <Author channel={channel} handle={preview.handle} />
      {text.trim() ? (
        <p dir="auto" className={`whitespace-pre-wrap break-words [unicode-bidi:plaintext] ${size}`}>
          <MarkedText text={text} preview={preview} />
        </p>
      ) : null}
      {media.length > 0 ? <PreviewMedia media={media} layout={preview.media} /> : null}
      {host ? <LinkCard host={host} /> : null}
      {!text.trim() && media.length === 0 ? <p className="text-sm text-muted">{strings.empty}</p> : null}
    </article>
  )
}

function Author({ channel, handle }: { channel: Channel; handle: Preview['handle'] }) {
  const isShown = handle !== 'hidden' && channel.handle !== null
  return (
    <div className="flex items-center gap-3">
      <ChannelMark channel={channel} />
      <p className={`min-w-0 text-sm ${handle === 'beside' ? 'flex flex-wrap gap-x-1.5' : ''}`}>
        <bdi className="block max-w-full break-words font-semibold">{channel.name}</bdi>
        {isShown ? <bdi className="block max-w-full break-words text-muted">{channel.handle}</bdi> : null}
      </p>
    </div>
  )
}

// These only look like links.
function MarkedText({ text, preview }: { text: string; preview: Preview }) {
  return partsOf(text, preview).map((part) =>
    part.isLink ? (
      <span key={part.at} className="break-all text-accent-ink">
        {part.text}
      </span>
    ) : (
      <Fragment key={part.at}>{part.text}</Fragment>
    ),
  )
}

// Hidden from screen readers: the form has the files with their alt texts.
function PreviewMedia({ media, layout }: { media: Picked[]; layout: Preview['media'] }) {
  const columns = layout === 'grid' && media.length > 1 ? 'grid-cols-2' : 'grid-cols-1'
  return (
    <div aria-hidden className={`grid gap-1 overflow-hidden rounded-xl ${columns}`}>
      {media.map((file) => (
        <FilePicture key={file.id} file={file} className="aspect-video w-full" playClass="size-8 p-2" />
      ))}
    </div>
  )
}

function LinkCard({ host }: { host: string }) {
  return (
    <p className="flex items-center gap-2 rounded-xl border border-line px-3 py-2.5 text-sm text-muted">
      <Link2 aria-hidden className="size-4 shrink-0" />
      <span className="min-w-0 break-all">{strings.linkCard(host)}</span>
    </p>
  )
}
