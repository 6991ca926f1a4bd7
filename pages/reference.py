"""Reference: every formula with its source and status, the laws, the words, and what the theory does not cover."""

import streamlit as st

from bsmath import laws as formulas
from pages.ui import disagreements, glossary, harness, laws, shell, state, tables

scenario = state.scenario()
run = shell.frame(scenario, "pages/reference.py")

st.markdown(
    "**Every number of this dashboard follows from the formulas below.** *Derived* means algebra from a stated model, *empirical* "
    "a fit with a range, *rule of thumb* neither."
)
st.subheader("What a step consumes", anchor=False)
shell.formula(
    r"B = b \cdot a \cdot d \cdot T \cdot (1 - padding)",
    source="Exact. Micro-batch x accumulation x replicas x sequence length. Hardware pays for padded tokens, optimization gains from real "
    "ones. Replicas leave out tensor-, pipeline- and context-parallel ranks.",
)
st.subheader("What the hardware gives", anchor=False)
shell.formula(
    r"R = \frac{n \cdot peak \cdot MFU}{6N}",
    r"tok/s = \frac{B}{t_{fixed} + B/R}",
    r"B_{half} = t_{fixed} R",
    source="Empirical (63 public sweeps; worst residual at most 5 % in 20, 5 to 15 % in 23, above in 20). 6N: Kaplan et al. 2020, arXiv "
    "2001.08361. Peaks are dense; vendors print the sparse figure, twice as high.",
)
shell.formula(
    r"t_{fixed} \to t_{fixed} + \left[T_{reduce} - \tfrac{2}{3}\,o\,C\right]_+ + a\left[T_{gather} - o\,C\right]_+",
    r"\frac{1}{R} \to \frac{1}{R} + \frac{t_{micro} + [T_{reads} - C]_+}{P_{micro}}",
    r"T_{reduce} = \frac{2(n-1)}{n}\,\frac{gradient\;bytes}{W}",
    source="Derived. C is the compute of one micro-batch on every replica (P_micro tokens), o the share of it that hides communication, "
    "[x]+ is x where positive. A ring all-reduce at W bytes/s one way runs behind the backward pass of the last micro-batch; ZeRO-3 gathers "
    "weights twice in each; reading the weights three times is the least time of a micro-batch. At a fixed micro-batch all of it "
    "is constant per step or per micro-batch, so the straight line stays one.",
)
st.subheader("What a token costs", anchor=False)
shell.formula(
    r"model = 6 N_{matmul} + 6 L H (Q + Q_v) T",
    r"HFU = MFU \cdot \frac{executed}{model} \le \tfrac{4}{3}\,MFU",
    source="Derived from a model's dimensions: N_matmul are the active parameters that multiply a token (the logits included, the embedding's "
    "lookup not), the second term attention's scores, in full as in PaLM (Chowdhery et al. 2022, app. B) or half of it where causal. "
    "Full recomputation runs the layers' forward pass again (Narayanan et al. 2021, eq. 3).",
)
st.subheader("What fits in memory", anchor=False)
shell.formula(
    r"states = 2N + 2N + 12N",
    r"activations = s\,b\,h\,L \cdot 34",
    r"logits = 6\,s\,b\,V",
    source="Derived for mixed-precision Adam (fp32 gradients take 4N) and for layers with a plain MLP and FlashAttention (Korthikanti et al. "
    "2022, arXiv 2205.05198: 34 + 5as/h with kept scores, 2 under full recomputation); gated MLPs were measured between 48 and 96. ZeRO "
    "shares out the optimizer, the gradients and the weights by stage 1, 2, 3 (arXiv 1910.02054).",
)
st.subheader("What the optimizer gets", anchor=False)
shell.formula(
    r"S = S_{min}(1 + B_{crit}/B)",
    r"E = E_{min}(1 + B/B_{crit})",
    r"E_{min} = S_{min} B_{crit}",
    source="Derived under a local quadratic model with the rate tuned at every batch: McCandlish et al. 2018, arXiv 1812.06162.",
)
shell.formula(
    r"S(B^*) = 1.2\,S(B_{opt})\,\frac{B_{opt}}{B^*}",
    r"B^* = 1.2\,B_{opt} + 0.2\,B_{crit}",
    source="The 20 % definition of a critical batch (Zhang et al. 2024, arXiv 2410.21676), solved on the hyperbola: derived, exact there. Their "
    "B_opt is 256 sequences of 512. Without B_opt, 20 % above the least tokens lie at 0.2 B_crit.",
)
st.subheader("What both give together", anchor=False)
shell.formula(
    r"goodput = \frac{tok/s}{1 + B/B_{crit}}",
    r"B_{fast} = \sqrt{B_{half} B_{crit}}",
    r"T_{min} = S_{min}\left(\sqrt{t_{fixed}} + \sqrt{B_{crit}/R}\right)^2",
    source="Derived: setting the derivative of S(B) t(B) to zero. Goodput: Pollux (Qiao et al. 2021, OSDI).",
)
st.subheader("What a batch ramp gets", anchor=False)
shell.formula(
    r"S = \int \frac{dD}{B(D)}",
    r"dE = \left(1 + \frac{B}{B_n(u)}\right)du",
    r"B = \sqrt{r\,B_n}",
    r"\left(\frac{S}{S_{min}} - 1\right)\left(\frac{E}{E_{min}} - 1\right) = \gamma",
    source="u are the tokens that tiny batches would have needed to get as far, D those that were spent. Steps: exact. The rest: derived for "
    "a local quadratic model with the rate tuned at every moment (McCandlish et al. 2018, appendix D); gamma is 1 for a flat batch and smaller "
    "the more B_n grows, by which law is empirical and disputed.",
)
st.subheader("What a plan costs", anchor=False)
shell.formula(
    r"T = S\,t",
    r"\text{cost} = \text{devices} \cdot T \cdot \text{price}",
    r"T_{draw} = S_{min}\left(1 + \frac{B_{crit}}{B}\right)\left(t_{fixed} + \frac{B}{R}\right)",
    source="Derived. Each number of devices is planned with its fastest feasible split: whole micro-batches that surely fit the memory. The band of a "
    "time comes from draws of S_min with B_crit and of t_fixed with R along the profile likelihoods of the fits; what no sweep has measured is "
    "taken as exact.",
)
st.subheader("What the noise of a gradient says", anchor=False)
shell.formula(
    r"B_{simple} = \frac{tr\,\Sigma}{|G|^2}",
    r"E|G_B|^2 = |G|^2 + \frac{tr\,\Sigma}{B}",
    source="Derived; both parts follow from squared gradient norms at two batch sizes (McCandlish et al. 2018, appendix A.1) and are "
    "averaged before they are divided; intervals by Fieller's theorem. That B_simple is near B_crit is empirical, to an order of "
    "magnitude at best.",
)
st.subheader("What branches of a run say", anchor=False)
shell.formula(
    r"k^* = \max\{k : L_{k'} \le L_1 + \epsilon \;\; \forall\, k' \le k\}",
    r"\eta_k = \sqrt{k}\,\eta",
    source="Empirical method (Merrill et al. 2025, arXiv 2505.23971): branches with k times the batch train on for the same tokens; "
    "k* B is the largest batch that ends no worse. Their tolerance is 0.01 nats for smoothed losses; a file names its own.",
)
st.subheader("How a sweep is fitted", anchor=False)
st.markdown(
    "Both curves are lines with relative errors (S in 1/B, step time in B), fitted by least squares on the logarithm; repeats "
    "at one batch enter as their median. Intervals are profile likelihoods whose scale comes from the fit's own residuals over "
    "batches, with Student's t: the spread of seeds alone is far too narrow wherever the model misfits. An open end "
    '("at least", "at most") says that the data set no bound. In a throughput sweep a point that the others contradict (F test at 1 %) and '
    "the batches beyond a falling rate are left out and named; where costs overlap instead of adding up, "
    "t = (t_fixed^g + (B/R)^g)^(1/g) takes the line's place if it fits clearly better. In a sweep of steps, runs three times off all others are "
    "left out as mistakes, batches left of the least of the tokens are left out where tokens are U-shaped (Chow's test at 5 %), a run that was "
    "stopped bounds its steps from below, steps read off a grid of evaluations are no surer than its spacing over the square root of 12, and "
    "S = S_min (1 + (B_crit/B)^alpha) is shown beside the hyperbola if it fits clearly better (F test at 1 %)."
)
harness.section(scenario)
st.subheader("Published laws for the batch size", anchor=False)
predictions = formulas.predictions(scenario.active_params, run.tokens, scenario.target_loss)
st.table(laws.table(predictions), hide_index=True)
st.markdown(laws.notes(predictions))
st.caption(
    "Evaluated at this scenario's active parameters, tokens and target loss; without a target loss the laws in it are left out."
)
st.subheader("Learning-rate rules", anchor=False)
st.markdown(tables.rule_notes())
st.subheader("What moves with the batch", anchor=False)
shell.formula(
    r"\lambda' = \lambda\,k\,\frac{\eta}{\eta'}",
    r"\beta' = \beta^{k}",
    r"\beta' = 1 - k(1-\beta)",
    r"\epsilon' = \epsilon/\sqrt{k}",
    r"c' = c\,\sqrt{\frac{1 + B_n/B'}{1 + B_n/B}}",
    source="k = B'/B in real tokens. Decay: derived, Wang and Aitchison 2024 (arXiv 2405.13698). Half-life of betas: empirical, Marek et al. 2025 "
    "(2507.07101). The square-root rule's betas and epsilon: derived for small rates, Malladi et al. 2022 (2205.10287). Clip threshold: derived "
    "from the expected gradient norm. Everything scheduled keeps its tokens, never its steps.",
)
st.subheader("Words", anchor=False)
st.table(glossary.table(), hide_index=True)
disagreements.section()
st.subheader("What this theory does not cover", anchor=False)
st.markdown(
    """
- **Where the learning rate is not re-tuned** at every batch the hyperbola does not hold: at one fixed rate tokens fall with the
  batch and the critical batch is not defined.
- **Small batches often cost tokens too**, 1.2 to 2.8 times the best, probably through fixed betas, decay and minimum rate. The
  hyperbola knows only the right side of that U.
- **B_crit grows during training** and differs by definition; the gradient noise scale has been found both within ten times of
  it (McCandlish) and orders of magnitude below it (Merrill et al. 2025, arXiv 2505.23971).
- **Step time is not a straight line** where kernels change with the size, memory runs short, communication is exposed, or the
  micro-batch changes inside a sweep.
- **More devices** change R and t_fixed together; this version keeps t_fixed where it is.
- **Padding, loss averaging over micro-batches, sequences counted for tokens, more workers at the same rate**: each breaks the
  arithmetic without an error message. The Change batch page says which of them apply to a run and what they cost.
"""
)
