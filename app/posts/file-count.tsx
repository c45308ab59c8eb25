import { Image } from 'lucide-react'
import { postListStrings } from './strings.tsx'

/** How many files a post has, in a list. */
export function FileCount({ count }: { count: number }) {
  return (
    <span className="flex items-center gap-1 text-xs text-muted">
      <Image aria-hidden className="size-4" />
      <span aria-hidden>{count}</span>
      <span className="sr-only">{postListStrings.row.files(count)}</span>
    </span>
  )
}
