import { defineConfig } from 'vitepress';

/** Pages in the sidebar. Other pages are found only through links and the search. */
const SIDEBAR = [
  {
    text: 'Start',
    items: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Concepts', link: '/concepts' },
    ],
  },
  {
    text: 'Send',
    items: [
      { text: 'Calls', link: '/calls' },
      { text: 'Decorators and context', link: '/decorators' },
      { text: 'Typed events', link: '/typed-events' },
      { text: 'Sources and the tracking API', link: '/sources' },
      { text: 'Audiences and computed traits', link: '/audiences' },
      { text: 'Events in a transaction', link: '/transactions' },
    ],
  },
  {
    text: 'Deliver',
    items: [
      { text: 'Webhooks for your customers', link: '/customer-webhooks' },
      { text: 'Destinations in your own code', link: '/custom-destinations' },
      { text: 'Receiving and verifying', link: '/receiving' },
      { text: 'Delivery', link: '/delivery' },
      { text: 'Queues and durability', link: '/queues' },
    ],
  },
  {
    text: 'Run',
    items: [
      { text: 'Testing', link: '/testing' },
      { text: 'Operating', link: '/operating' },
      { text: 'Containers and serverless', link: '/containers' },
      { text: 'The console', link: '/console' },
      { text: 'Health', link: '/health' },
      { text: 'Metrics and traces', link: '/metrics-and-traces' },
      { text: 'From one process to a cluster', link: '/scaling' },
      { text: 'Security', link: '/security' },
      { text: 'Performance', link: '/performance' },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'Options', link: '/options' },
      { text: 'Errors', link: '/errors' },
      { text: 'What can go wrong', link: '/what-can-go-wrong' },
      { text: 'Migrating', link: '/migrating' },
      { text: 'API reference', link: '/api/' },
      { text: 'Changelog', link: '/changelog' },
    ],
  },
];

/** Returns the anchor that GitHub gives a heading, so that links also work there. */
function slugify(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}

export default defineConfig({
  title: 'nestjs-analytics',
  description: 'A Segment-style analytics client for NestJS that delivers every event to webhooks.',
  lang: 'en',
  cleanUrls: true,
  markdown: { anchor: { slugify } },
  // The search index is large, but it is loaded only when somebody searches.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'Options', link: '/options' },
      { text: 'Errors', link: '/errors' },
    ],
    sidebar: SIDEBAR,
    outline: [2, 3],
    search: { provider: 'local' },
  },
});
