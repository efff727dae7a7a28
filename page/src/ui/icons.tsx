// Icons of our own: paths in a square of 16.
const kPaths = {
  check: 'M3 8.5l3.2 3.2L13 4.8',
  cross: 'M4 4l8 8M12 4l-8 8',
  dot: 'M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.3',
  pause: 'M5.5 4v8M10.5 4v8',
  play: 'M5.5 3.5v9l6.5-4.5z',
  wait: 'M4.5 2.5h7M4.5 13.5h7M5 2.5c0 4 6 7 6 11M11 2.5c0 4-6 7-6 11',
  stop: 'M4.5 4.5h7v7h-7z',
  ban: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6',
  warning: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11v.5',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  search: 'M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.5 3.5',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  live: 'M2 8h2.5l2-4.5 3 9 2-4.5H14',
  back: 'M10 3L5 8l5 5',
  damage: 'M9 2L4 9h4l-1 5 5-7H8z',
} as const

export type IconName = keyof typeof kPaths

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={kPaths[name]} />
    </svg>
  )
}
