// Until someone plays a video, only its head is loaded. Most browsers draw its first frame; Safari on a phone does only if
// the address names a time (https://www.w3.org/TR/media-frags/#naming-time).
const atStart = (src: string) => `${src}#t=0.001`

/** A video with controls. */
export function Video({ src, name, className = '' }: { src: string; name: string; className?: string }) {
  return (
    // biome-ignore lint/a11y/useMediaCaption: people upload no captions; their description of it is its name
    <video
      src={atStart(src)}
      aria-label={name}
      controls
      preload="metadata"
      playsInline
      className={`shrink-0 rounded-lg bg-sunken ${className}`}
    />
  )
}

/** The first frame of a video as a picture, for eyes only. Where the browser can't draw it, nothing. */
export function VideoFrame({ src, className = '' }: { src: string; className?: string }) {
  return (
    <video src={atStart(src)} aria-hidden tabIndex={-1} muted preload="metadata" playsInline className={className} />
  )
}
