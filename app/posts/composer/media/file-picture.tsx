import { Play } from 'lucide-react'
import { VideoFrame } from '../../../ui/video.tsx'
import type { Picked } from '../uploads.ts'

type Props = { file: Picked; className: string; playClass: string }

/** A picture of a file: its thumbnail, or the first frame of a video with a sign on it. For eyes only. */
export function FilePicture({ file: { kind, url, thumbnailUrl }, className, playClass }: Props) {
  if (kind === 'image')
    return <img src={thumbnailUrl ?? url} alt="" className={`bg-sunken object-cover ${className}`} />
  return (
    <span aria-hidden className={`relative grid place-items-center overflow-hidden bg-sunken ${className}`}>
      <VideoFrame src={url} className="absolute inset-0 size-full object-cover" />
      <Play className={`relative rounded-full bg-panel text-ink ${playClass}`} />
    </span>
  )
}
