# SPDX-License-Identifier: GPL-2.0-only
# The lab: a real Xen under emulation (docs/lab.md). Included by the Makefile.

LAB_PAIRS ?= amd vtd
LAB_SEED ?= 7
LAB_RUN = $(Q)scripts/lab/lab.py --seed=$(LAB_SEED)

.PHONY: lab-tools lab lab-prepare lab-amd lab-vtd lab-programs lab-debug lab-cost lab-ept lab-clean lab-selftest
lab-tools: deps-run
	$(Q)$(MAKE) --no-print-directory all

lab: lab-tools
	$(LAB_RUN) $(LAB_PAIRS) programs
lab-prepare lab-amd lab-vtd lab-programs lab-debug lab-cost lab-ept: lab-tools
	$(LAB_RUN) $(@:lab-%=%)
lab-clean:
	$(LAB_RUN) clean

# The checkers on hand-made input: no emulation, some seconds.
lab-selftest:
	$(Q)for checker in $$(grep -l -e --self-test scripts/lab/*.py); do \
		python3 "$$checker" --self-test || exit 1; done
