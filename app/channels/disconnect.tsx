import type { Channel } from '../../jobs/ledger/channel-view.ts'
import { PostForm } from '../shell/post-form.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { channelStrings } from './strings.tsx'

const strings = channelStrings.disconnect

/** Asks what to do with the posts that have not gone out. */
export function DisconnectForm({ channel, unsent }: { channel: Channel; unsent: number }) {
  return (
    <PostForm>
      <input type="hidden" name="intent" value="disconnect" />
      <input type="hidden" name="id" value={channel.id} />
      <Confirm
        title={strings.title(channel.name)}
        lead={unsent > 0 ? strings.unsent(unsent) : strings.noneUnsent}
        does={strings.submit}
        keeps={strings.keep}
        backTo="/channels"
      >
        {/* A post that is scheduled meanwhile is not cancelled: nobody was asked. */}
        {unsent > 0 ? <UnsentChoice /> : <input type="hidden" name="unsent" value="hold" />}
      </Confirm>
    </PostForm>
  )
}

function UnsentChoice() {
  return (
    <fieldset className="space-y-2">
      <legend className="mb-2 text-sm font-medium">{strings.choice}</legend>
      <Choice value="cancel" name={strings.cancel} says={strings.cancelHint} isFirst />
      <Choice value="hold" name={strings.hold} says={strings.holdHint} />
    </fieldset>
  )
}

function Choice({
  value,
  name,
  says,
  isFirst = false,
}: {
  value: string
  name: string
  says: string
  isFirst?: boolean
}) {
  return (
    <label className="flex cursor-pointer gap-3 rounded-lg border border-line p-3 has-[:checked]:border-accent-ink has-[:checked]:bg-accent/5">
      <input type="radio" name="unsent" value={value} defaultChecked={isFirst} className="mt-1 size-4 accent-accent" />
      <span>
        <span className="block text-sm font-medium">{name}</span>
        <span className="block text-sm text-muted">{says}</span>
      </span>
    </label>
  )
}
