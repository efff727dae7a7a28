// Definitions that were typed and not applied. They stay in the memory of the tab, also while another page or the sign-in form is shown.

/** By `draftKey`: the text, and the revision from which it was made. */
export const drafts = new Map<string, { text: string; revision: number }>()

/** The key of the draft of a workflow; without one, of a definition that is new. */
export function draftKey(ns: string, workflow = ''): string {
  return `${ns}\n${workflow}`
}

/** Says that a text is a draft that was kept. */
export function DraftLine({ revision, newest = revision, discard }: { revision: number; newest?: number; discard: () => void }) {
  return (
    <p class="notes" role="status">
      This draft was not applied; it is kept until the tab is closed or loaded again. {revision !== newest && `It was made from revision ${revision}, and revision ${newest} was applied since. `}
      <button type="button" class="small" onClick={discard}>Discard the draft</button>
    </p>
  )
}
