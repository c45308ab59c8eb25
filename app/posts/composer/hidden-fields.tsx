import type { Channel } from '../../../jobs/ledger/channel-view.ts'
import type { Override } from '../../../jobs/ledger/post-view.ts'
import { altBeforeOf, type Fields } from '../working-copy/fields.ts'
import type { Saving } from '../working-copy/use-working-copy.ts'
import { ownMediaIds } from './channels/overrides.ts'
import { altName, altsBeforeName } from './typed.ts'

// `shown`: the channels whose text and media have fields of their own.
type Props = { saving: Saving; fields: Fields; shown: Channel[]; version: number | undefined }

/** What the composer's form carries and nobody sees. */
export function HiddenFields({ saving, fields, shown, version }: Props) {
  return (
    <>
      <input type="hidden" name="forOrganisation" value={saving.organisationId} />
      <input type="hidden" name="copy" value={saving.current.id} />
      {fields.overrides.map((override) => (
        <input key={override.channelId} type="hidden" name="overrides" value={JSON.stringify(override)} />
      ))}
      <input type="hidden" name={altsBeforeName} value={JSON.stringify(altsBefore(fields))} />
      {unseenFiles(fields, shown).map(({ id, alt }) => (
        <input key={id} type="hidden" name={altName(id)} value={alt} />
      ))}
      {version ? <input type="hidden" name="version" value={version} /> : null}
    </>
  )
}

function altsBefore({ files }: Fields): Record<string, string> {
  return Object.fromEntries(files.map((file) => [file.id, altBeforeOf(file)]))
}

// Files of channels that are not chosen now. Their alt texts are kept like their texts.
function unseenFiles({ overrides, media, files }: Fields, shown: Channel[]) {
  const isShown = ({ channelId }: Override) => shown.some(({ id }) => id === channelId)
  const seen = [...media.map(({ id }) => id), ...ownMediaIds(overrides.filter(isShown))]
  const ids = ownMediaIds(overrides)
  return files.filter(({ id }) => ids.includes(id) && !seen.includes(id))
}
