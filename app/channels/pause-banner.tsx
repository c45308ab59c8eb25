import { CirclePause } from 'lucide-react'
import { useAccount } from '../shell/account.ts'
import { Instant } from '../shell/instant.tsx'
import { shellStrings } from '../shell/strings.tsx'
import { networkName } from './channel-mark.tsx'

/** Says on every page that an operator has paused sending, all of it or a part that this organisation uses. */
export function PauseBanner() {
  const pause = useAccount()?.pause
  if (!pause) return null
  const { since, networks, channels } = pause
  return (
    <div role="status" className="mb-5 flex gap-2.5 rounded-lg border border-line bg-sunken px-3.5 py-2.5 text-sm">
      <CirclePause aria-hidden className="mt-0.5 size-4 shrink-0 text-muted" />
      <p className="min-w-0 break-words">
        {shellStrings.paused([...networks.map(networkName), ...channels], <Instant at={since} />)}
      </p>
    </div>
  )
}
