import { useEffect, useRef, useState } from 'react'
import { composerStrings } from '../strings.tsx'
import type { Verdict } from './checks.ts'

const strings = composerStrings.checks

/** Says once, to screen readers, that a text or media no longer fit a channel. The sentences beside the fields say more. */
export function CheckStatus({ verdicts }: { verdicts: Verdict[] }) {
  const texts = namesWith(verdicts, ({ of }) => of === 'text')
  const media = namesWith(verdicts, ({ of }) => of !== 'text')
  return (
    <>
      <NewlyBad names={texts} sentence={strings.tooLongFor} />
      <NewlyBad names={media} sentence={strings.mediaNotFor} />
    </>
  )
}

function NewlyBad({ names, sentence }: { names: string[]; sentence: (channels: string[]) => string }) {
  const before = useRef<string[]>([])
  const [said, setSaid] = useState('')
  useEffect(() => {
    const added = names.filter((name) => !before.current.includes(name))
    before.current = names
    if (added.length > 0) setSaid(sentence(added))
    else if (names.length === 0) setSaid('')
  }, [names, sentence])
  return (
    <p role="status" className="sr-only">
      {said}
    </p>
  )
}

function namesWith(verdicts: Verdict[], isMeant: (complaint: Verdict['complaints'][number]) => boolean): string[] {
  return verdicts.filter(({ complaints }) => complaints.some(isMeant)).map(({ channel }) => channel.name)
}
