import { Fragment } from 'react'
import type { Api } from '../../server/router.ts'
import { Instant } from '../shell/instant.tsx'
import { Video } from '../ui/video.tsx'
import { feedStrings } from './strings.ts'

type Item = Awaited<ReturnType<Api['feeds']['item']>>['item']

/** A post of a feed channel, as the public reads it. `rel` tells search engines not to count its links as ours. */
export function FeedItem({ item }: { item: Item }) {
  return (
    <>
      {item.content ? (
        <p dir="auto" className="whitespace-pre-wrap break-words [unicode-bidi:plaintext]">
          <LinkedText text={item.content} />
        </p>
      ) : null}
      {item.media.map(({ url, mime, alt, width, height }) =>
        mime.startsWith('video/') ? (
          <Video key={url} src={url} name={alt || feedStrings.unnamedVideo} className="mt-3 max-h-[32rem] max-w-full" />
        ) : (
          <img
            key={url}
            src={url}
            alt={alt}
            {...(width && height ? { width, height } : {})}
            loading="lazy"
            className="mt-3 h-auto max-h-[32rem] w-auto max-w-full rounded-xl bg-sunken"
          />
        ),
      )}
    </>
  )
}

function LinkedText({ text }: { text: string }) {
  return partsOf(text).map((part) =>
    part.isLink ? (
      <a
        key={part.at}
        href={part.text}
        rel="nofollow ugc noopener noreferrer"
        className="text-accent-ink underline underline-offset-2"
      >
        {part.text}
      </a>
    ) : (
      <Fragment key={part.at}>{part.text}</Fragment>
    ),
  )
}

/** When an item was published. */
export function ItemDate({ at }: { at: string }) {
  return (
    <span className="text-sm">
      <Instant at={at} />
    </span>
  )
}

function partsOf(content: string): { at: number; text: string; isLink: boolean }[] {
  const parts = []
  let end = 0
  // A full stop or a bracket after an address is the sentence's.
  for (const { 0: link, index } of content.matchAll(/https?:\/\/[^\s<>"]*[^\s<>"'.,:;!?)\]]/g)) {
    parts.push({ at: end, text: content.slice(end, index), isLink: false }, { at: index, text: link, isLink: true })
    end = index + link.length
  }
  return [...parts, { at: end, text: content.slice(end), isLink: false }].filter(({ text }) => text)
}
