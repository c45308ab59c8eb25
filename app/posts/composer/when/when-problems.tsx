import { FieldErrors } from '../../../ui/forms/control.tsx'

/** The problems of one of the fields for the time, in the grid of these fields: below all of them and as wide. */
export function WhenProblems({ id, problems }: { id: string; problems: string[] | undefined }) {
  return (
    <div className="order-last col-span-full -mt-3 empty:hidden">
      <FieldErrors id={id} errors={problems} />
    </div>
  )
}
