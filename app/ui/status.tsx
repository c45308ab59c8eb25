import type { LucideIcon } from 'lucide-react'

const tones = {
  good: 'bg-good/10 text-good',
  calm: 'bg-sunken text-muted',
  busy: 'bg-accent/10 text-accent-ink',
  warn: 'bg-warn/10 text-warn',
  bad: 'bg-bad/10 text-bad',
}

export type Tone = keyof typeof tones

type PillProps = { name: string; icon: LucideIcon; tone: Tone; isMoving?: boolean }

/** A status as a word with a colour and an icon. */
export function Pill({ name, icon: Icon, tone, isMoving = false }: PillProps) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap rounded-full px-2.5 py-0.5 text-xs font-medium ${tones[tone]}`}
    >
      <Icon aria-hidden className={`size-3.5 ${isMoving ? 'motion-safe:animate-spin' : ''}`} />
      {name}
    </span>
  )
}
