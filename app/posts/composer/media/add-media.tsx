import { ImagePlus } from 'lucide-react'
import { type RefObject, useEffect, useState } from 'react'
import type { Channel } from '../../../../jobs/ledger/channel-view.ts'
import { buttonClass } from '../../../ui/forms/button.tsx'

type Props = {
  label: string
  picker: RefObject<HTMLInputElement>
  channels: Channel[]
  describedBy: string
  onPick: (files: File[]) => void
}

/** Picks files, of the types that one of the channels accepts. */
export function AddMedia({ label, picker, channels, describedBy, onPick }: Props) {
  const types = typesOn(channels)
  const [hasHeic, setHasHeic] = useState(false)
  // iPhones send a JPEG of a photo if HEIC is not asked for, of any size.
  useEffect(() => setHasHeic(!/iPhone|iPad/.test(navigator.userAgent)), [])
  const heic = hasHeic && types.includes('image/jpeg') ? ['.heic', '.heif'] : []
  return (
    <label
      className={`${buttonClass()} scripted cursor-pointer has-[:focus-visible]:outline has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-offset-2 has-[:focus-visible]:outline-accent-ink`}
    >
      <ImagePlus aria-hidden />
      {label}
      <input
        ref={picker}
        type="file"
        multiple
        accept={[...types, ...heic].join(',')}
        aria-describedby={describedBy}
        className="sr-only"
        onChange={(event) => {
          onPick([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = '' // the same file may be picked again
        }}
      />
    </label>
  )
}

const OurTypes = [
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/mp4',
  'video/webm',
  'video/quicktime',
]

function typesOn(channels: Channel[]): string[] {
  if (channels.length === 0) return OurTypes
  return OurTypes.filter((type) => channels.some(({ limits }) => limits.mediaTypes.includes(type)))
}
