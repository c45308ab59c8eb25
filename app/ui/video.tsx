/** A video with controls. Until someone plays it, only its length is loaded. */
export function Video({ src, name, className = '' }: { src: string; name: string; className?: string }) {
  return (
    // biome-ignore lint/a11y/useMediaCaption: people upload no captions; their description of it is its name
    <video
      src={src}
      aria-label={name}
      controls
      preload="metadata"
      playsInline
      className={`shrink-0 rounded-lg bg-sunken ${className}`}
    />
  )
}
