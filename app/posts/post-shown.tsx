import type { Post } from '../../jobs/ledger/post-view.ts'
import type { Media } from '../../server/media/media.ts'
import { Card } from '../ui/page.tsx'
import { Video } from '../ui/video.tsx'
import { postStrings } from './strings.tsx'

type ShownMedia = Pick<Media, 'id' | 'kind' | 'url' | 'thumbnailUrl' | 'alt'>

/** A post that can no longer be changed. */
export function PostShown({ post, media }: { post: Post; media: ShownMedia[] }) {
  return (
    <Card>
      {post.content ? <p className="whitespace-pre-wrap break-words">{post.content}</p> : null}
      {media.length > 0 ? (
        <ul className={`grid grid-cols-2 gap-3 sm:grid-cols-3 ${post.content ? 'mt-4' : ''}`}>
          {media.map(({ id, kind, url, thumbnailUrl, alt }) => (
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
              {alt ? <p className="mt-1 line-clamp-2 text-xs text-muted">{alt}</p> : null}
            </li>
          ))}
        </ul>
      ) : null}
    </Card>
  )
}
