import type { Channel } from '../../jobs/ledger/channel-view.ts'
import type { Override, Post } from '../../jobs/ledger/post-view.ts'
import type { Media } from '../../server/media/media.ts'
import { networkName } from '../channels/channel-mark.tsx'
import { Card } from '../ui/page.tsx'
import { Video } from '../ui/video.tsx'
import { postStrings } from './strings.tsx'

type ShownMedia = Pick<Media, 'id' | 'kind' | 'url' | 'thumbnailUrl' | 'alt'>

type Props = { post: Post; media: ShownMedia[]; files: ShownMedia[]; channels: Channel[] }

/** A post that can no longer be changed, with what its channels have of their own. `files` has at least all its files. */
export function PostShown({ post, media, files, channels }: Props) {
  return (
    <Card>
      <div className="space-y-4">
        {post.content ? <Text>{post.content}</Text> : null}
        <Files files={media} />
        <AllParts parts={differing(post)} post={post} files={files} channels={channels} />
      </div>
    </Card>
  )
}

type KeptProps = Omit<Props, 'media'> & { on: string[] }

/** What the channels `on`, which published a post, keep of their own where it differs from the post. */
export function KeptParts({ on, ...shown }: KeptProps) {
  const parts = differing(shown.post).filter(({ channelId }) => on.includes(channelId))
  if (parts.length === 0) return null
  return (
    <Card>
      <div className="space-y-4">
        <AllParts parts={parts} {...shown} />
      </div>
    </Card>
  )
}

// What was published before a change is kept as the channel's own, also where it is still the same.
function differing({ overrides, content, mediaIds }: Post): Override[] {
  return overrides.flatMap((own) => {
    const isOwnText = own.content !== undefined && own.content !== content
    const isOwnMedia = own.mediaIds !== undefined && own.mediaIds.join() !== mediaIds.join()
    if (!isOwnText && !isOwnMedia) return []
    const { channelId } = own
    return [
      { channelId, ...(isOwnText ? { content: own.content } : {}), ...(isOwnMedia ? { mediaIds: own.mediaIds } : {}) },
    ]
  })
}

function AllParts({ parts, post, files, channels }: Omit<Props, 'media'> & { parts: Override[] }) {
  const nameOf = (channelId: string) =>
    channels.find(({ id }) => id === channelId)?.name ??
    networkName(post.deliveries.find((delivery) => delivery.channelId === channelId)?.network ?? '')
  return parts.map((own) => <OwnParts key={own.channelId} own={own} channel={nameOf(own.channelId)} files={files} />)
}

function OwnParts({ own, channel, files }: { own: Override; channel: string; files: ShownMedia[] }) {
  const { content, mediaIds } = own
  return (
    <div className="space-y-2 border-line border-l-2 pl-3.5">
      {content === undefined ? null : (
        <>
          <p className="break-words text-sm text-muted">{postStrings.ownText(<bdi>{channel}</bdi>)}</p>
          <Text>{content}</Text>
        </>
      )}
      {mediaIds ? (
        <>
          <p className="break-words text-sm text-muted">{postStrings.ownMedia(<bdi>{channel}</bdi>)}</p>
          {mediaIds.length === 0 ? <p className="text-sm">{postStrings.noMedia}</p> : null}
          <Files files={mediaIds.flatMap((id) => files.filter((file) => file.id === id))} />
        </>
      ) : null}
    </div>
  )
}

function Text({ children }: { children: string }) {
  return (
    <p dir="auto" className="whitespace-pre-wrap break-words [unicode-bidi:plaintext]">
      {children}
    </p>
  )
}

function Files({ files }: { files: ShownMedia[] }) {
  if (files.length === 0) return null
  return (
    <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3">
      {files.map(({ id, kind, url, thumbnailUrl, alt }) => (
        <li key={id}>
          {kind === 'video' ? (
            <Video src={url} name={alt || postStrings.unnamedVideo} className="aspect-video w-full" />
          ) : (
            <a href={url} className="block">
              <img
                src={thumbnailUrl ?? url}
                alt={alt || postStrings.unnamedImage}
                className="aspect-video w-full rounded-lg bg-sunken object-cover"
              />
            </a>
          )}
          {alt ? (
            <p dir="auto" className="mt-1 line-clamp-2 text-xs text-muted">
              {alt}
            </p>
          ) : null}
        </li>
      ))}
    </ul>
  )
}
