/** A video with its own buttons, of which nothing but its length is loaded before it is played. */
export function Video({ src, name, className = '' }: { src: string; name: string; className?: string }) {
  return (
    // biome-ignore lint/a11y/useMediaCaption: people upload no captions; what they wrote of it is its name
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
