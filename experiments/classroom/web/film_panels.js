// Panels 8 and 9: runs of the engine, played in step.

export const FILM_PANELS = [
  {
    id: "packing", title: "Packing a small cluster",
    text: "24 jobs that want 1 to 4 GPUs come to three nodes of four GPUs. Press Play: five schedulers see the same jobs, and each is good at something else.",
    films: [["packing", ""]],
    question: "Which scheduler is best?",
    answer: "It depends on what you count. SRTF has the least mean completion time. Greedy and the optimum look at due dates: they have the fewest late jobs and the least cost. The optimum is that of each decision with what is known then, not of the whole day.",
    how: {
      sh: `schedlab run examples/backfill.toml --policy fifo-strict --out out-fifo
schedlab run examples/backfill.toml --policy srpt --out out-srpt
schedlab show replay out-fifo out-srpt --out replay.html`,
    },
  },
  {
    id: "synergy", title: "CPUs by need",
    text: "Language models hardly need CPUs, image models need many of them to prepare their data. Synergy gives CPUs by need: proportional is the usual equal part, greedy and tune ask what each job gains.",
    films: [["one", "One server, 10 jobs"], ["four", "Four servers, 40 jobs"]],
    question: "Greedy gives each job all that it asks for. When does that hurt?",
    answer: "When GPUs are free, but not the CPUs that a job asks for: then the job waits beside idle GPUs. On the four servers a job waits 52.4 min on average under greedy, and 10.5 min under tune, which takes CPUs back from jobs that have more than their part. These servers are seldom full, so greedy's jobs make up for their wait: 14.1 h from submission to end on average, against 14.5 h under tune and 25 h with equal parts.",
    how: { sh: "schedlab run examples/synergy.toml --out out-synergy" },
  },
];
