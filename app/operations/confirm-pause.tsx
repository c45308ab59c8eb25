import { useLocation } from '@remix-run/react'
import type { z } from 'zod'
import type { Reach } from '../../server/operations/forms.ts'
import { networkName } from '../channels/channel-mark.tsx'
import { PostForm } from '../shell/post-form.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { operationsStrings } from './strings.tsx'

const strings = operationsStrings.confirmPause

/** Asks before sending stops within `reach`. */
export function ConfirmPause({ reach }: { reach: z.output<typeof Reach> }) {
  const { scope } = reach
  const { key } = useLocation() // asked again, it takes the focus again
  return (
    <PostForm className="mb-5">
      <input type="hidden" name="intent" value="pause" />
      <input type="hidden" name="confirmed" value="yes" />
      {Object.entries(reach).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <Confirm
        key={key}
        title={strings.title[scope](scope === 'network' ? networkName(reach.name) : '')}
        lead={strings.lead[scope]}
        does={strings.does[scope]}
        keeps={strings.keeps}
        backTo="/operations"
      />
    </PostForm>
  )
}
