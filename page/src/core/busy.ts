// Whether the page still gets what its route shows first: code that is loaded when it is needed, data
// that is read, a graph that is laid out. The main region has it as `aria-busy`. What is read again, while
// the old content stays, does not count.
import { computed, signal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'

const busyParts = signal(0)
/** Whether a part of the page is not there yet. */
export const isBusy = computed(() => busyParts.value > 0)

/** Counts the part of the page that calls it while `isPartBusy`, at most until the part goes. */
export function useBusy(isPartBusy: boolean): void {
  // A layout effect: the region is busy before the browser paints the part, and before another task runs.
  useLayoutEffect(() => {
    if (!isPartBusy) return undefined
    busyParts.value += 1
    return () => { busyParts.value -= 1 }
  }, [isPartBusy])
}
